import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

interface Line {
  level: string;
  process: string;
  msg: string;
  origin?: string;
  err: { type: string; message: string; stack?: string };
}

/** The output of a process that logs its errors while it runs this, and how it ends. */
function run(code: string): Promise<{ lines: Line[]; stderr: string; exitCode: number }> {
  const log = JSON.stringify(join(PACKAGE_ROOT, 'dist/src/telemetry/log.js'));
  const script = `import { endWith, logProcessErrors } from ${log}; logProcessErrors('frontend'); ${code}`;
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
