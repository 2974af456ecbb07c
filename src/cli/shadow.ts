import { rename, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { CommandError, examples, EXIT, jsonText, wholeNumber } from './command.ts';
import { sourceAddress } from './source/server.ts';
import type { Follower } from './shadow/follower.ts';
import { createProxy } from './shadow/proxy.ts';
import { Report } from './shadow/report.ts';

interface Options {
  from: string;
  to: string;
  key?: string;
  tenant?: string;
  listen: { host: string; port: number };
  report?: string;
  reportAt?: Options['listen'];
  json?: boolean;
  ignore: string[];
  concurrency: number;
  queue: number;
  drain: number;
}

/** Interval at which the report's file is written, and at which a line is shown if something happened. */
const WRITE_MS = 10_000;
const LINE_MS = 60_000;

/** Adds `laurel shadow`: a proxy before another server, whose answers are compared with Laurel's. */
export function addShadow(laurel: Command): void {
  laurel
    .command('shadow')
    .description(
      'stand in front of another server of the same Application API, and compare its answers with those of Laurel',
    )
    .requiredOption(
      '--from <url>',
      'the Application API that clients use today; they are pointed at this command instead',
    )
    .option('--to <url>', "Laurel's Application API", 'http://localhost:8080')
    .addOption(new Option('--key <key>', 'an admin key of Laurel').env('ADMIN_API_KEY'))
    .option('--tenant <id>', 'the tenant in Laurel; by default the one that a request names')
    .option('--listen <address>', 'where clients connect, HOST:PORT or PORT', address, {
      host: '127.0.0.1',
      port: 8090,
    })
    .option('--report <file>', 'write the report as JSON, every 10 s and at the end')
    .option('--report-at <address>', 'answer there with the report as JSON, HOST:PORT or PORT', address)
    .option('--json', 'print the report as JSON at the end')
    .option('--ignore <field...>', 'fields that are not compared: a name, or a path such as rankings[].userName', [])
    .option('--concurrency <n>', 'requests to Laurel at the same time', wholeNumber, 8)
    .option('--queue <n>', 'requests that may wait for Laurel; more are dropped, and said so', wholeNumber, 10_000)
    .option('--drain <seconds>', 'how long Laurel may take for what waits at the end', wholeNumber, 30)
    .addHelpText(
      'after',
      examples('shadow --from https://api.example.org/v1 --listen 0.0.0.0:8090 --report shadow.json'),
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { from, to, key } = options;
  if (key === undefined || key === '')
    throw new CommandError('A key of Laurel is needed: set ADMIN_API_KEY, or --key.');
  const source = new URL(sourceAddress(from));
  const laurel = new URL(sourceAddress(to, '--to'));
  const report = new Report({
    from: source.href,
    to: laurel.href,
    onFirst: (line) => void process.stderr.write(`Differs: ${line}\n`),
  });
  report.hide(key);
  const [{ Pool }, { Follower }] = await Promise.all([import('undici'), import('./shadow/follower.ts')]);
  const upstream = { pool: new Pool(source.origin), prefix: source.pathname.replace(/\/+$/, '') };
  const follower = new Follower({
    ...options,
    to: laurel.href,
    key,
    source: upstream,
    ignored: options.ignore,
    report,
  });
  await probed(follower, laurel);
  const proxy = createProxy({ source: upstream, follower, report });
  const listening = [await listen(proxy, options.listen)];
  if (options.reportAt !== undefined) listening.push(await listen(reportServer(report), options.reportAt));
  process.stderr.write(
    `Forwarding http://${hostText(proxy)} to ${source.href}, comparing with Laurel at ${laurel.href}. Ctrl-C ends with the report.\n`,
  );
  if (listening[1] !== undefined) process.stderr.write(`The report is at http://${hostText(listening[1])}.\n`);
  const timers = reporting(options, { report, follower });
  await stopSignal();
  for (const timer of timers) clearInterval(timer);
  process.stderr.write(`Ending: ${follower.waiting} requests wait for Laurel.\n`);
  const closed = listening.map((server) => new Promise<void>((done) => void server.close(() => done())));
  for (const server of listening) server.closeIdleConnections();
  const impatient = stopSignal();
  await Promise.race([Promise.all(closed), after(options.drain * 1000), impatient]);
  for (const server of listening) server.closeAllConnections();
  await Promise.race([follower.end(options.drain * 1000), impatient.then(() => follower.end(0))]);
  await upstream.pool.destroy();
  report.end();
  await writeReport(options.report, report);
  process.stdout.write(options.json === true ? jsonText(report.value()) : report.toText());
  process.exitCode = report.isClean ? EXIT.done : EXIT.differs;
}

/** Ends the command if Laurel does not answer or refuses the key, since nothing could be compared. */
async function probed(follower: Follower, { href }: URL): Promise<void> {
  const status = await follower.probe().catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `Laurel does not answer at ${href} (${error.code ?? error.message}). --to says where it is.`,
    );
  });
  if (status === 401 || status === 403)
    throw new CommandError(`Laurel refuses the key (${status}): --key or ADMIN_API_KEY must be an active admin key.`);
  if (status !== 200 && status !== 404)
    throw new CommandError(`${href} does not answer as Laurel's Application API does (${status}).`);
}

function address(text: string): Options['listen'] {
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new InvalidArgumentError('It must be HOST:PORT, or PORT.');
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

async function listen(server: Server, { host, port }: Options['listen']): Promise<Server> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(`${host}:${port} cannot be listened on (${error.code}). --listen names another address.`),
      ),
    );
    server.listen(port, host, resolve);
  });
  return server;
}

function hostText(server: Server): string {
  const { address: host, family, port } = server.address() as AddressInfo;
  return family === 'IPv6' ? `[${host}]:${port}` : `${host}:${port}`;
}

const reportServer = (report: Report): Server =>
  createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(jsonText(report.value()));
  });

function reporting({ report: file }: Options, { report, follower }: { report: Report; follower: Follower }) {
  let shown = '';
  return [
    setInterval(() => {
      writeReport(file, report).catch((error: Error) => void process.stderr.write(`${error.message}\n`));
    }, WRITE_MS),
    setInterval(() => {
      const line = `${report.line()}, ${follower.waiting} waiting\n`;
      if (line !== shown) process.stderr.write((shown = line));
    }, LINE_MS),
  ];
}

/** Replaces the file atomically, so that nobody reads half a report. */
async function writeReport(file: string | undefined, report: Report): Promise<void> {
  if (file === undefined) return;
  await writeFile(`${file}.new`, jsonText(report.value()));
  await rename(`${file}.new`, file);
}

const stopSignal = (): Promise<void> =>
  new Promise((stopped) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped());
  });

const after = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms).unref());
