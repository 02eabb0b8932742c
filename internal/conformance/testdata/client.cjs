// Prints what a client of the official TypeScript SDK sees of a server, with the
// keys of objects sorted, for the client orders them by era:
//
//	node client.cjs FOLDER_OF_PACKAGES sdk|client URL [auto|legacy|DATE]
//
// "sdk" is version 1, "client" version 2. Names are printed without the prefix
// that a gateway puts before them.
const { createRequire } = require('node:module');
const path = require('node:path');
const [folder, which, url, era] = process.argv.slice(2);
const load = createRequire(path.join(folder, 'package.json'));

function make() {
  const info = { name: 'typescript', version: '1' };
  if (which === 'sdk') {
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return [new Client(info), new StreamableHTTPClientTransport(new URL(url))];
  }
  const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
  const mode = era === 'auto' || era === 'legacy' ? era : { pin: era };
  return [new Client(info, { versionNegotiation: { mode } }), new StreamableHTTPClientTransport(new URL(url))];
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

async function main() {
  const [client, transport] = make();
  await client.connect(transport);
  const plain = (name) => name.replace(/^fixture__/, '');
  const strip = (list) => list.map((x) => ({ ...x, name: plain(x.name) }));
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  const tools = (await client.listTools()).tools;
  const prompts = (await client.listPrompts()).prompts;
  const full = (list, name) => list.find((x) => plain(x.name) === name).name;
  const seen = {
    tools: strip(tools).sort(byName),
    text: (await client.callTool({ name: full(tools, 'test_simple_text'), arguments: {} })).content,
    image: (await client.callTool({ name: full(tools, 'test_image_content'), arguments: {} })).content,
    failed: (await client.callTool({ name: full(tools, 'test_error_handling'), arguments: {} })).isError,
    resources: (await client.listResources()).resources.sort(byName),
    templates: (await client.listResourceTemplates()).resourceTemplates,
    read: (await client.readResource({ uri: 'test://static-text' })).contents,
    prompts: strip(prompts).sort(byName),
    prompt: (
      await client.getPrompt({
        name: full(prompts, 'test_prompt_with_arguments'),
        arguments: { arg1: 'one', arg2: 'two' },
      })
    ).messages,
  };
  await client.close();
  console.log(JSON.stringify(sorted(seen)));
}

main().then(
  () => process.exit(0),
  (err) => {
    console.error(err);
    process.exit(1);
  },
);
