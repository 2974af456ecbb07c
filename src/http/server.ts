import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { LogThrottle } from '../log/log-throttle.ts';
import { AppError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import { corsHeaders, preflightHandler } from './cors.ts';
import { Exchange } from './exchange.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { healthHandler, metricsHandler, readyHandler } from './health.ts';
import { addPage } from './page-handlers.ts';
import type { Page } from './pages.ts';
import { InFlight } from './in-flight.ts';
import type { Log } from '../log/log.ts';
import { LIVE_SOCKET_PATH, liveSocket } from './live/web-socket.ts';
import { otherPortHint, type OtherPort } from './other-port.ts';
import { Paths, type Handler } from './paths.ts';
import type { FileLimit, RateLimit } from './rate-limit.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { Readiness } from './readiness.ts';
import { framingFault, readHead, sizeFault } from './request-head.ts';
import { connectionClosed, errorResponse, write } from './respond.ts';
import { requestIdOf } from './request-id.ts';
import { compileRoute } from './route.ts';
import type { ResolveTenant } from './tenancy.ts';
import { uws, type ListenSocket, type TemplatedApp } from './uws.ts';
import { Validation } from './validation.ts';

/** That something is away is logged of an operation this often. */
const REPEAT_MS = 1_000;

/** One for all servers of the process: the surfaces have operations in common, and a schema is compiled once. */
const validation = new Validation();

export interface ServerOptions {
  surface: Operation['surface'];
  /** Those of the surface; the order does not matter. */
  operations: readonly Operation[];
  /** The other surface, which a request may have been meant for; undefined: there is none. */
  otherPort?: OtherPort;
  services: Services;
  authenticate: ExchangeContext['authenticate'];
  /** Sessions that are taken instead of keys; without it none are. */
  sessions?: ExchangeContext['sessions'];
  resolveTenant: ResolveTenant;
  /** `bodyBytes`: of any request's body; operations may allow less. */
  limits: { bodyBytes: number };
  /** Counts what a caller asks; undefined: nothing is limited. */
  rateLimit?: RateLimit | undefined;
  /** Counts requests for what needs no key, by address; undefined: nothing is limited. */
  fileLimit?: FileLimit | undefined;
  failedKeys?: ExchangeContext['failedKeys'];
  trustedProxies?: ExchangeContext['trustedProxies'];
  /** The organisation's setting; without it whole numbers go to the clients that need them. */
  boardValues?: ExchangeContext['boardValues'];
  readiness: () => Promise<Readiness>;
  /** What is not served though the process is ready, a sentence each, for `/readyz`; without it nothing is said. */
  notices?: () => readonly string[];
  /** Whether requests about a tenant can be answered now, null: about any: 503 otherwise. Without it they always can. */
  isReady?: ExchangeContext['isReady'];
  /** Called for every key that is refused, with the address it came from. */
  onRefused?: ExchangeContext['onRefused'];
  /** Pages for browsers; none by default. */
  pages?: readonly Page[];
  /** Observes the requests, those of other surfaces as well. */
  requests?: RequestMetrics;
  /** What `/metrics` answers; without it there is none. */
  metrics?: () => Promise<string>;
  log: Log;
  /** Makes the spans of sampled requests; without it none are made. */
  traces?: ExchangeContext['traces'];
  /** Called when no connection is taken any more: ends the live streams, so that their clients go elsewhere. */
  endStreams?: () => void;
  /** The origin whose pages may call this surface from a browser, `*` for any; null or left out: none. */
  corsOrigin?: string | null;
  /**
   * Several processes may listen on the port, and the kernel spreads connections over them. Off (the default), a
   * port that is taken is refused: uWS would otherwise let a second Laurel share it unnoticed.
   */
  sharedPort?: boolean;
}

export interface Server {
  /** Requests that are being worked on. */
  readonly inFlight: number;
  /** Listens and resolves with the port (0 asks for a free one). Rejects with a sentence where it is taken. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Ends well: at once `/readyz` answers 503 and responses close their connections; after `graceMs` (for a load
   * balancer to notice) no connection is taken; when all in flight has ended, or after `timeoutMs`, the rest is
   * closed. Connections that are open and quiet get `lingerMs` more: a client may be just about to use one, is
   * answered, and asked to close it. Resolves with the number of exchanges that were cut off.
   */
  drain(options?: { graceMs?: number; lingerMs?: number; timeoutMs?: number }): Promise<number>;
  /** Closes the listener and every connection at once. Safe to call twice. */
  close(): void;
}

/**
 * The HTTP server of one surface: its operations with their aliases, HEAD where there is GET, 405 with `Allow`
 * for other methods of a known path, 404 elsewhere, `/healthz` and `/readyz`. Schemas are compiled here, so
 * that one that cannot be compiled stops the start. A connection takes one request at a time: uWS closes one
 * that sends the next request while an answer is being worked on.
 */
export function createServer(options: ServerOptions): Server {
  const { surface, services, authenticate, resolveTenant, limits, readiness, log } = options;
  const inFlight = new InFlight();
  const { requests = new RequestMetrics(new Registry()) } = options;
  const context: ExchangeContext = {
    surface,
    services,
    authenticate,
    sessions: options.sessions ?? null,
    resolveTenant,
    isReady: options.isReady ?? (() => true),
    rateLimit: options.rateLimit,
    fileLimit: options.fileLimit,
    failedKeys: options.failedKeys,
    trustedProxies: options.trustedProxies ?? [],
    boardValues: options.boardValues ?? (() => 'byClient'),
    log,
    traces: options.traces ?? null,
    requests,
    onRefused: options.onRefused,
    logThrottle: new LogThrottle(REPEAT_MS),
    draining: false,
    cors: options.corsOrigin === undefined || options.corsOrigin === null ? null : corsHeaders(options.corsOrigin),
    begun: () => inFlight.begun(),
    ended: () => inFlight.ended(),
  };
  const paths = new Paths();
  for (const operation of options.operations) {
    // Made now, because compressing it would hold up requests.
    operation.file?.(services);
    const route = compileRoute(operation, { validation, limits, requests });
    for (const path of [operation.path, ...operation.aliases])
      paths.add(
        path,
        operation.method,
        (headOnly) => (res, req) => new Exchange(context, { route, res, headOnly }).begin(req),
      );
  }
  const health = {
    '/healthz': healthHandler(context),
    '/readyz': readyHandler(context, { readiness, notices: options.notices ?? (() => []) }),
    ...(options.metrics && { '/metrics': metricsHandler(context, options.metrics) }),
  };
  for (const [path, handler] of Object.entries(health))
    paths.add(path, 'get', (headOnly) => sized(context, handler(headOnly)));
  const refuse = refusal(context, options.otherPort && otherPortHint(surface, options.otherPort));
  const notFound = refuse(new AppError('unknown_path', 'There is no such path'));
  for (const page of options.pages ?? [])
    addPage(paths, { page, context, wrap: (handler) => sized(context, handler), notFound });
  const app = uws().App();
  // Before the paths: a request for a WebSocket is one to this path's GET, too.
  if (options.operations.some(({ path }) => path === LIVE_SOCKET_PATH))
    app.ws(LIVE_SOCKET_PATH, liveSocket(context, validation) as Parameters<typeof app.ws>[1]);
  paths.register(app, {
    refuse,
    preflight: (methods, notAllowed) => sized(context, preflightHandler(context, { methods, notAllowed })),
  });
  return serverOf(app, {
    context,
    inFlight,
    sharedPort: options.sharedPort ?? false,
    endStreams: options.endStreams ?? (() => undefined),
  });
}

/** A form of `listen` that the declared types lack. */
interface HostListener {
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): void;
}

/** How often it is looked whether all connections are closed. */
const LINGER_LOOK_MS = 20;

// LIBUS_LISTEN_DEFAULT and LIBUS_LISTEN_EXCLUSIVE_PORT, which exist as types only.
const SHARED = 0;
const EXCLUSIVE = 1;

const refusal =
  (context: ExchangeContext, hintOf: ReturnType<typeof otherPortHint> = () => undefined) =>
  (error: AppError): Handler =>
    sized(context, (res, req) => {
      context.requests.refused(error);
      write(res, errorResponse(error, hintOf(req.getMethod(), req.getUrl())), {
        head: req.getMethod() === 'head',
        close: context.draining,
        requestId: requestIdOf(req.getHeader('x-request-id')),
        cors: context.cors,
      });
    });

/** What is answered outside an exchange is framed as in one. */
const sized =
  (context: ExchangeContext, handler: Handler): Handler =>
  (res, req) => {
    const head = readHead(req);
    const fault = framingFault(head) ?? sizeFault(req, head.bytes);
    if (fault === null) return handler(res, req);
    context.requests.refused(fault);
    const how = { head: req.getMethod() === 'head', close: true, cors: context.cors };
    write(res, errorResponse(fault), { ...how, requestId: requestIdOf(head.requestId) });
  };

function serverOf(
  app: TemplatedApp,
  {
    context,
    inFlight,
    sharedPort,
    endStreams,
  }: { context: ExchangeContext; inFlight: InFlight; sharedPort: boolean; endStreams: () => void },
): Server {
  let listener: ListenSocket | null = null;
  let closed = false;
  let connections = 0;
  app.filter((_res, count) => {
    if (Number(count) > 0) connections += 1;
    else {
      connections -= 1;
      connectionClosed();
    }
  });
  const closeListener = (): void => {
    if (listener) uws().us_listen_socket_close(listener);
    listener = null;
  };
  const close = (): void => {
    if (closed) return;
    closed = true;
    // Closing the app closes its listener too; closing that twice would be fatal.
    listener = null;
    app.close();
  };
  return {
    get inFlight() {
      return inFlight.count;
    },
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        const listening = (socket: ListenSocket | false): void => {
          if (!socket) return reject(new Error(`Port ${port} of ${host} is taken or may not be used`));
          listener = socket;
          resolve(uws().us_socket_local_port(socket));
        };
        (app as unknown as HostListener).listen(host, port, sharedPort ? SHARED : EXCLUSIVE, listening);
      }),
    async drain({ graceMs = 0, lingerMs = 0, timeoutMs = 10_000 } = {}) {
      context.draining = true;
      if (graceMs > 0) await sleep(graceMs);
      // Right after the event loop has taken the connections that wait: those behind them would be reset.
      await new Promise((resolve) => setImmediate(resolve));
      closeListener();
      endStreams();
      const deadlineMs = performance.now() + timeoutMs;
      await inFlight.idle(timeoutMs);
      const quietMs = Math.min(performance.now() + lingerMs, deadlineMs);
      while (connections > 0 && performance.now() < quietMs) await sleep(LINGER_LOOK_MS);
      await inFlight.idle(Math.max(0, deadlineMs - performance.now()));
      const cutOff = inFlight.count;
      // What was answered last may still be on its way out of this process.
      await new Promise((resolve) => setImmediate(resolve));
      close();
      return cutOff;
    },
    close,
  };
}
