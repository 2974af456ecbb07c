import { type Command, InvalidArgumentError, Option } from 'commander';
import { rename, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, pipeline } from 'node:stream';
import type { Pool } from 'undici';
import { keyOption } from './admin-api.ts';
import { CommandError, examples, EXIT, jsonText, wholeNumber } from './command.ts';
import {
  type Answer,
  bodyValue,
  type Exchange,
  headerOf,
  headersWhere,
  Kept,
  type RequestFacts,
  requestFacts,
} from './shadow-exchange.ts';
import { Report } from './shadow-report.ts';
import type { Follower } from './shadow-follower.ts';
import { sourceAddress } from './source.ts';

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
    .addOption(keyOption('an admin key of Laurel'))
    .option('--tenant <id>', 'the tenant in Laurel; by default the one that a request names')
    .addOption(
      new Option('--listen <address>', 'where clients connect, HOST:PORT or PORT')
        .argParser(address)
        .default({ host: '127.0.0.1', port: 8090 }, '127.0.0.1:8090'),
    )
    .option('--report <file>', 'write the report as JSON, every 10 s and at the end')
    .option('--report-at <address>', 'answer there with the report as JSON, HOST:PORT or PORT', address)
    .option('--json', 'print the report as JSON at the end')
    .addOption(
      new Option(
        '--ignore <field...>',
        'fields that are not compared: a name, or a path such as rankings[].userName',
      ).default([], 'none'),
    )
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
  if (key === undefined || key === '') throw new CommandError('A key of Laurel is required: set LAUREL_KEY or --key.');
  const source = new URL(sourceAddress(from));
  const laurel = new URL(sourceAddress(to, '--to'));
  const report = new Report({
    from: source.href,
    to: laurel.href,
    onFirst: (line) => void process.stderr.write(`Differs: ${line}\n`),
  });
  report.hide(key);
  const [{ Pool }, { Follower }] = await Promise.all([import('undici'), import('./shadow-follower.ts')]);
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
  const timers = reporting(options, report, follower);
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
    throw new CommandError(`Laurel refuses the key (${status}): --key or LAUREL_KEY must be an active admin key.`);
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

function reporting({ report: file }: Options, report: Report, follower: Follower) {
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

interface ProxyOptions {
  source: { pool: Pool; prefix: string };
  follower: Follower;
  report: Report;
}

/** Headers about a connection instead of the message (RFC 9110, 7.6.1), and those that the client library sets itself. */
const HOP_BY_HOP = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect)$/;
/** Longer than load balancers keep an idle connection, so that they close it first. */
const KEEP_ALIVE_MS = 75_000;
/** Maximum number of idempotency keys whose state is remembered. */
const MOST_KEYS = 100_000;

/** A request that the source is answering. */
type InFlight = Partial<RequestFacts> & Pick<Exchange, 'userOverlapped' | 'othersOverlapped'> & { isAnswered: boolean };

/**
 * A server that passes each request unchanged to the source and each answer unchanged to the client, and then both to
 * the follower. It adds, follows and repeats nothing. Laurel's failures never reach the client.
 */
function createProxy(options: ProxyOptions): Server {
  const inFlight = new Set<InFlight>();
  const keys = new IdempotencyKeys();
  const server = createServer((request, response) => {
    response.sendDate = false;
    response.on('error', () => undefined);
    forward(request, response, { ...options, inFlight, keys }).catch((error: unknown) => fail(response, error));
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { source, follower, report, inFlight, keys }: ProxyOptions & { inFlight: Set<InFlight>; keys: IdempotencyKeys },
): Promise<void> {
  const path = request.url!;
  const method = request.method!;
  const { rawHeaders } = request;
  report.count('forwarded');
  report.hide(headerOf(rawHeaders, 'x-api-key'));
  const sent = new Kept();
  const entry: InFlight = { userOverlapped: false, othersOverlapped: false, isAnswered: false };
  const onSent = (): void => {
    // The source has the whole request, so it may change something from now on.
    Object.assign(entry, requestFacts(method, path, sent.whole() ?? Buffer.alloc(0)));
    if (entry.isAnswered) return;
    noteOverlaps(entry, inFlight);
    inFlight.add(entry);
  };
  const outcome = (): Outcome => ({ method, path, headers: rawHeaders, body: sent.whole(), entry });
  let answered;
  try {
    answered = await source.pool.request({
      method: method as 'GET',
      path: source.prefix + path,
      headers: headersWhere(rawHeaders, (name) => !HOP_BY_HOP.test(name)),
      body: bodyOf(request, sent, onSent),
      responseHeaders: 'raw',
    });
  } catch (error) {
    notAnswered(outcome(), { follower, report, keys, why: 'the source did not answer' });
    throw error;
  } finally {
    entry.isAnswered = true;
    inFlight.delete(entry);
  }
  const { statusCode, body } = answered;
  const headers = answered.headers as unknown as string[];
  let complete: (answer: Answer | null) => void = () => undefined;
  const sourceAnswer = new Promise<Answer | null>((resolve) => (complete = resolve));
  answeredBy({ ...outcome(), sourceStatus: statusCode, sourceAnswer }, { follower, report, keys });

  response.writeHead(
    statusCode,
    headersWhere(headers, (name) => !HOP_BY_HOP.test(name)),
  );
  if (headerOf(headers, 'content-length') === undefined) response.flushHeaders();
  const received = new Kept();
  try {
    for await (const chunk of body) {
      received.add(chunk as Uint8Array);
      // Do not wait for a client that has disconnected; the answer is still compared.
      if (!response.destroyed && !response.write(chunk)) await drained(response);
    }
    response.end();
    const whole = received.whole();
    const encoding = headerOf(headers, 'content-encoding');
    complete({ status: statusCode, body: whole === null ? undefined : bodyValue(whole, encoding) });
  } catch (error) {
    complete(null);
    throw error;
  }
}

/** Resolves when more may be written, or the client has disconnected. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });

/** Streams a request's body and keeps a copy; `null` if there is no body. Calls `onSent` when it is complete. */
function bodyOf(request: IncomingMessage, sent: Kept, onSent: () => void): PassThrough | null {
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (chunked === undefined && (length === undefined || length === '0')) {
    onSent();
    return null;
  }
  const body = new PassThrough({
    transform(chunk: Buffer, _encoding, passed) {
      sent.add(chunk);
      passed(null, chunk);
    },
    flush(passed) {
      onSent();
      passed();
    },
  });
  // If the client disconnects in between, the request to the source ends as well.
  pipeline(request, body, () => undefined);
  return body;
}

/** Answers for a source that does not answer, or breaks off an unfinished answer. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { code = 'no answer' } = error as NodeJS.ErrnoException;
  const isLate = code === 'UND_ERR_HEADERS_TIMEOUT';
  response.writeHead(isLate ? 504 : 502, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: `The source of laurel shadow does not answer (${code})` }));
}

/** Notes, for concurrent requests, whether one of them may change the other's answer. */
function noteOverlaps(entry: InFlight, inFlight: ReadonlySet<InFlight>): void {
  for (const other of inFlight) {
    if (other.writes !== true && entry.writes !== true) continue;
    const isSameUser = entry.user !== null && entry.user === other.user;
    if (isSameUser) entry.userOverlapped = other.userOverlapped = true;
    else {
      if (other.writes === true) entry.othersOverlapped = true;
      if (entry.writes === true) other.othersOverlapped = true;
    }
  }
}

interface Outcome {
  method: string;
  path: string;
  headers: string[];
  /** `null` if it is too long to compare. */
  body: Buffer | null;
  entry: InFlight;
}

interface Following {
  follower: Follower;
  report: Report;
  keys: IdempotencyKeys;
}

/** Passes the requests that the source accepted to the follower, and counts the others. */
function answeredBy(outcome: Outcome & Pick<Exchange, 'sourceStatus' | 'sourceAnswer'>, following: Following): void {
  const { entry, headers, sourceStatus } = outcome;
  const { follower, report, keys } = following;
  const exchange = exchangeOf(outcome);
  if (exchange === null) return report.notCompared('it is not of the Application API, or too long');
  if (isUncertain(sourceStatus))
    return notAnswered(outcome, { ...following, why: `the source answered ${sourceStatus}` });
  // Nothing has changed at the source: the key lacks the right, there were too many requests, maintenance, or a redirect.
  if ([401, 403, 429, 503].includes(sourceStatus) || (sourceStatus >= 300 && sourceStatus < 400))
    return report.notCompared(`the source answered ${sourceStatus}`);
  const key = entry.writes === true ? headerOf(headers, 'idempotency-key') : undefined;
  if (key !== undefined && sourceStatus < 300) {
    const state = keys.get(key);
    if (sourceStatus === 202 && state === undefined)
      return report.notCompared('it repeats an event from before this run');
    if (state === 'uncertain') exchange.repeats = true;
    keys.set(key, 'given');
  }
  follower.take(exchange);
}

/** Whether a source with this answer may or may not have applied the request. */
const isUncertain = (status: number): boolean => status >= 500 && status !== 503;

/** Handles a write with an unknown outcome at the source. A client that repeats it with its key will settle the outcome. */
function notAnswered(outcome: Outcome, { follower, report, keys, why }: Following & { why: string }): void {
  report.notCompared(why);
  const exchange = exchangeOf({ ...outcome, sourceStatus: 0, sourceAnswer: Promise.resolve(null) });
  if (exchange?.writes !== true) return;
  const key = headerOf(outcome.headers, 'idempotency-key');
  if (key === undefined) follower.setAside(exchange, `${why}: whether it applied the request is unknown`);
  else if (keys.get(key) === undefined) keys.set(key, 'uncertain');
}

function exchangeOf(outcome: Outcome & Pick<Exchange, 'sourceStatus' | 'sourceAnswer'>): Exchange | null {
  const { entry, body, ...rest } = outcome;
  const { operation, user = null, writes = false, userOverlapped, othersOverlapped } = entry;
  if (operation === undefined || body === null) return null;
  return {
    ...rest,
    method: rest.method as Exchange['method'],
    operation,
    user,
    writes,
    body,
    userOverlapped,
    othersOverlapped,
    repeats: false,
  };
}

/** Idempotency keys whose events were sent to Laurel in this run, and those with an unknown outcome at the source. */
class IdempotencyKeys {
  private readonly states = new Map<string, 'given' | 'uncertain'>();

  get = (key: string): 'given' | 'uncertain' | undefined => this.states.get(key);

  set(key: string, state: 'given' | 'uncertain'): void {
    this.states.delete(key);
    this.states.set(key, state);
    if (this.states.size > MOST_KEYS) this.states.delete(this.states.keys().next().value!);
  }
}
