// Loaded by Node.js before the Playwright server. It gives the server a folder of its
// own, and ends the server when its browser has died.
import childProcess from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const browser = process.env.TENON_BROWSER;
const runner = /^np[mx]/.test(path.basename(process.argv[1] ?? '')); // npx, which starts the server
if (browser && !runner) {
  const root = os.tmpdir();
  const prefix = 'tenon-browser-';
  sweep(root, prefix);
  const own = fs.mkdtempSync(path.join(root, `${prefix}${process.pid}-`));
  // The browser makes a socket below its temporary folder, whose whole path the system
  // holds to about a hundred bytes.
  if (own.length <= 60 || process.platform === 'win32')
    process.env.TMPDIR = process.env.TMP = process.env.TEMP = own;
  process.chdir(own);
  process.on('exit', () => {
    process.chdir(root);
    remove(own);
  });

  let ending = false;
  process.stdin.once('end', () => { ending = true; });
  const spawn = childProcess.spawn;
  childProcess.spawn = function (file, ...rest) {
    const child = spawn.call(this, file, ...rest);
    if (file !== browser)
      return child;
    const began = Date.now();
    child.once('exit', (code, signal) => {
      // One that ends at once did not start, and the server says better why.
      if (code === 0 || ending || Date.now() - began < 1000)
        return;
      fs.writeSync(2, `the browser ended (${signal ?? `exit status ${code}`})\n`);
      process.exit(70);
    });
    return child;
  };
}

// sweep removes the folders of servers that are no more.
function sweep(root, prefix) {
  for (const name of fs.readdirSync(root)) {
    const pid = name.startsWith(prefix) ? parseInt(name.slice(prefix.length), 10) : NaN;
    if (pid > 0 && !lives(pid))
      remove(path.join(root, name));
  }
}

function lives(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return e.code !== 'ESRCH';
  }
}

function remove(folder) {
  try {
    fs.rmSync(folder, {recursive: true, force: true, maxRetries: 3});
  } catch {
    // of another user, or still in use: the next one tries again
  }
}
