// A tool server of one's own in TypeScript: copy it, change the tool, and name it
// in tenon.yaml. It needs Node.js 20 and, once, npm install in this folder.
//
//   servers:
//     dice: {command: npx, args: [tsx, server.mts]}
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "dice", version: "1.0.0" });

server.registerTool(
  "roll",
  {
    description: "Roll dice and give each value and the total.",
    inputSchema: {
      sides: z.number().int().min(2).max(100).describe("sides of each die"),
      dice: z.number().int().min(1).max(100).default(1).describe("how many dice"),
    },
    annotations: { readOnlyHint: true },
  },
  async ({ sides, dice }: { sides: number; dice: number }) => {
    const values = Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * sides));
    const total = values.reduce((a, b) => a + b, 0);
    return { content: [{ type: "text", text: JSON.stringify({ values, total }) }] };
  },
);

// Standard output belongs to the protocol. Log with console.error.
await server.connect(new StdioServerTransport());
