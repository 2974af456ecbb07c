// Runs commands of `laurel`, one at a time. A command has ended when nothing keeps the process up any longer, as in a process of its own.
import { runProgram } from '../../dist/in-few-files/src/cli/program.js';

/** The dispatcher of Node's `fetch`, which keeps connections. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const written = { out: [], err: [] };
const keep = (name) => (chunk, encoding, callback) => {
  written[name].push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  const done = typeof encoding === 'function' ? encoding : callback;
  if (done) process.nextTick(done);
  return true;
};
process.stdout.write = keep('out');
process.stderr.write = keep('err');

const taken = (name) => Buffer.concat(written[name].splice(0)).toString('utf8');
const report = (code, more, done) => process.send({ code, out: taken('out'), err: taken('err'), ...more }, done);

process.on('message', ({ words, env }) => {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(2, Infinity, ...words);
  process.exitCode = undefined;
  // From now on only the command keeps the process up.
  process.channel.unref();
  void runProgram();
});
process.on('beforeExit', () => {
  const code = process.exitCode ?? 0;
  process.exitCode = undefined;
  process.channel.ref();
  // The next command opens its own connections: a kept one may be closed by the server at the moment of a request.
  const dispatcher = globalThis[DISPATCHER];
  if (dispatcher !== undefined) {
    globalThis[DISPATCHER] = new dispatcher.constructor();
    void dispatcher.destroy();
  }
  report(code);
});
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack}\n`);
  report(1, { isLast: true }, () => process.exit(1));
});
process.on('disconnect', () => process.exit());
