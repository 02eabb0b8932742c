// Uses a service by E2B's own client, and prints what that makes of it.
import { Sandbox } from '@e2b/code-interpreter'

const out = {}
const nameOf = async (work) => {
  try {
    await work()
    return 'nothing'
  } catch (e) {
    return e.constructor.name + (e.exitCode === undefined || e.exitCode < 0 ? '' : ' ' + e.exitCode)
  }
}

const s = await Sandbox.create({ metadata: { a: 'b' }, timeoutMs: 60_000 })
await s.files.write('/home/user/w/a.txt', 'hello')
await s.files.makeDir('/home/user/w/dir')
out.read = await s.files.read('/home/user/w/a.txt')
out.listed = (await s.files.list('/home/user/w')).map((f) => `${f.type} ${f.name}`).sort()
out.missing = (await nameOf(() => s.files.read('/home/user/nothing'))).replace(/^NotFoundError$/, 'FileNotFoundError')
const c = await s.commands.run('echo out; echo err >&2')
out.command = { exitCode: c.exitCode, stdout: c.stdout, stderr: c.stderr }
out.streamed = []
await s.commands.run('echo one; sleep 0.3; echo two', { onStdout: (text) => out.streamed.push(text) })
out.failed = await nameOf(() => s.commands.run('exit 7'))
out.late = await nameOf(() => s.commands.run('sleep 20', { timeoutMs: 500 }))
const b = await s.commands.run('sleep 20', { background: true })
out.killed = await b.kill()
out.background = await nameOf(() => b.wait())
await s.runCode('x = 40')
out.state = (await s.runCode('x + 2')).text
const shown = await s.runCode(`
import base64
class Figure:
    def _repr_png_(self): return base64.b64decode("iVBORw0KGgo=")
print('printed')
Figure()`)
out.stdout = shown.logs.stdout
out.figure = shown.results[0].png === 'iVBORw0KGgo='
out.raised = (await s.runCode('1/0')).error.name
const other = await s.createCodeContext({ cwd: '/home/user' })
out.context = (await s.runCode('x', { context: other })).error.name
await s.setTimeout(30_000)
out.running = await s.isRunning()
out.metadata = (await s.getInfo()).metadata.a
const pages = Sandbox.list({ query: { metadata: { a: 'b' } } })
out.listedSandboxes = (await pages.nextItems()).length
await s.kill()
out.gone = await s.isRunning()
out.wrongKey = await nameOf(() => Sandbox.create({ apiKey: 'e2b_' + '1'.repeat(40) }))
console.log(JSON.stringify(out))
