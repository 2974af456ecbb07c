import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { readableLine } from '../../src/telemetry/log.ts';
import { hasProgram } from '../stack/has-program.ts';

interface Line {
  level: string;
  process: string;
  msg: string;
  origin?: string;
  err: { type: string; message: string; stack?: string };
}

const LOG = JSON.stringify(join(PACKAGE_ROOT, 'dist/src/telemetry/log.js'));

/** The output of a process that logs its errors while it runs this, and how it ends. */
function run(code: string): Promise<{ lines: Line[]; stderr: string; exitCode: number }> {
  const script = `import { endWith, logProcessErrors } from ${LOG}; logProcessErrors('frontend'); ${code}`;
  return new Promise((resolve) => {
    const child = execFile('node', ['--input-type=module', '-e', script], (_, stdout, stderr) => {
      const lines = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Line);
      resolve({ lines, stderr, exitCode: child.exitCode! });
    });
  });
}

test.each([
  ['uncaughtException', 'setTimeout(() => { throw new TypeError("odd"); }); setInterval(() => {}, 1000);'],
  ['unhandledRejection', 'Promise.reject(new TypeError("odd")); setInterval(() => {}, 1000);'],
])('%s: one line of the log, without the input, and the end of the process', async (origin, code) => {
  const { lines, stderr, exitCode } = await run(code);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 'fatal', process: 'frontend', origin, err: { type: 'TypeError' } });
  expect(lines[0]?.err.stack).toContain(' at ');
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 1 });
});

test('a warning of Node is exactly one line of the log', async () => {
  const { lines, stderr, exitCode } = await run('process.emitWarning("odd", { code: "ODD" });');
  expect(lines).toMatchObject([{ level: 'warn', process: 'frontend', err: { type: 'Warning', code: 'ODD' } }]);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
});

test('the error that ends a process’s work: a line of the log, or its sentence', async () => {
  const odd = await run('endWith(new TypeError("odd"), "frontend");');
  expect(odd.lines).toMatchObject([{ level: 'fatal', process: 'frontend', err: { type: 'TypeError' } }]);
  expect([odd.stderr, odd.exitCode]).toEqual(['', 1]);
  const said = await run('endWith(Object.assign(new Error("Set it."), { name: "StartError" }), "frontend");');
  expect(said).toEqual({ lines: [], stderr: 'Set it.\n', exitCode: 1 });
});

test('a process whose terminal is closed goes on without its log, and ends', async (context) => {
  context.skip(!(await hasProgram('script')), 'there is no script (Debian: apt-get install bsdutils)');
  const folder = await mkdtemp(join(tmpdir(), 'laurel-terminal-'));
  const file = join(folder, 'ended');
  const code = `
    import { writeFileSync } from "node:fs";
    import { createLog, logProcessErrors } from ${LOG};
    logProcessErrors("frontend");
    const log = createLog({ level: "info", name: "frontend" });
    process.on("exit", (status) => writeFileSync(${JSON.stringify(file)}, String(status)));
    process.on("SIGHUP", () => {
      log.info({}, "nobody reads this");
      setImmediate(() => process.exit(0));
    });
    log.info({ port: 8080 }, "begun");
    setInterval(() => {}, 1_000);`;
  const terminal = spawn(
    'script',
    ['--quiet', '--command', `exec node --input-type=module -e '${code}'`, '/dev/null'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  try {
    let shown = '';
    terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString('utf8')));
    await expect.poll(() => shown).toMatch(/^\d\d:\d\d:\d\d info frontend: begun \{"port":8080\}\r\n$/);
    terminal.kill('SIGKILL');
    await once(terminal, 'close');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toBe('0');
  } finally {
    terminal.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

test('a line of the log for a terminal', () => {
  const line = {
    level: 'warn',
    time: '2026-11-26T06:43:10.776Z',
    process: 'worker',
    pid: 3,
    shard: 7,
    msg: 'it is late',
  };
  expect(readableLine(JSON.stringify(line))).toBe('06:43:10 warn worker: it is late {"shard":7}\n');
  expect(readableLine(JSON.stringify({ ...line, shard: undefined }))).toBe('06:43:10 warn worker: it is late\n');
});
