import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { AppError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import { type Log, LogThrottle } from '../telemetry/log.ts';
import { corsHeaders, preflightHandler } from './access/cors.ts';
import type { AcceptsHost } from '../domain/host-names.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { Exchange } from './exchange.ts';
import { healthHandler, metricsHandler, type Readiness, readyHandler } from './health.ts';
import { LIVE_SOCKET_PATH, liveSocket } from './live-connections.ts';
import { mcpOperation } from './mcp/endpoint.ts';
import { addPage, type Page } from './pages.ts';
import { addUnsubscribePage } from './unsubscribe-page.ts';
import { type Handler, type OtherPort, otherPortHint, Paths } from './paths.ts';
import type { FileLimit, RateLimit } from './access/rate-limit.ts';
import { Admission } from './access/admission.ts';
import { Shares } from './access/shares.ts';
import { framingFault, readHead, requestIdOf, sizeFault } from './request-head.ts';
import { RequestMetrics } from './request-metrics.ts';
import { connectionClosed, errorResponse, write } from './respond.ts';
import { routeOf } from './route.ts';
import type { ResolveTenant } from './access/tenancy.ts';
import { type ListenSocket, type TemplatedApp, uws } from './uws.ts';

class InFlight {
  private running = 0;
  private waiting: (() => void)[] = [];

  get count(): number {
    return this.running;
  }

  begun(): void {
    this.running += 1;
  }

  ended(): void {
    this.running -= 1;
    if (this.running > 0 || this.waiting.length === 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  async idle(timeoutMs: number): Promise<void> {
    if (this.running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Log interval, per operation, while a dependency is unreachable. */
const REPEAT_MS = 1_000;

export interface ServerOptions {
  surface: Operation['surface'];
  operations: readonly Operation[];
  /** The other surface, for hints in errors; `undefined` if there is none. */
  otherPort?: OtherPort;
  services: Services;
  authenticate: ExchangeContext['authenticate'];
  /** Sessions accepted in place of keys; none by default. */
  sessions?: ExchangeContext['sessions'];
  resolveTenant: ResolveTenant;
  /** `bodyBytes`: limit for every request body. Operations may set a lower one. */
  limits: { bodyBytes: number };
  /** Limits callers' requests; `undefined` for no limit. */
  rateLimit?: RateLimit | undefined;
  /** Callers' shares of the process's time; shared with other surfaces. By default, only tenants have shares. */
  shares?: Shares;
  /** Refuses requests that would wait too long; shared with other surfaces. */
  admission?: Admission;
  /** Limits requests for files without a key, by address; `undefined` for no limit. */
  fileLimit?: FileLimit | undefined;
  failedKeys?: ExchangeContext['failedKeys'];
  trustedProxies?: ExchangeContext['trustedProxies'];
  /** The organisation's setting. By default, only clients that need whole numbers get them. */
  boardValues?: ExchangeContext['boardValues'];
  readiness: () => Promise<Readiness>;
  /** Sentences for `/readyz` about what is not served although the process is ready. */
  notices?: () => readonly string[];
  /** Whether requests about a tenant (`null`: any tenant) can be served now; otherwise 503. True by default. */
  isReady?: ExchangeContext['isReady'];
  onRefused?: ExchangeContext['onRefused'];
  /**
   * Operations of both surfaces that assistants may use, at `/mcp`, and the secret of the codes that confirm changes; none
   * by default.
   */
  tools?: { operations: readonly Operation[]; secret: KeyObject };
  pages?: readonly Page[];
  /** Serves the page of the links to unsubscribe, with this name of the organisation; absent: it does not. */
  unsubscribePage?: { appName: () => string };
  /** Whether the server has the name in `Host`; `null` (default): every name is accepted. */
  acceptsHost?: AcceptsHost | null;
  /** Observes requests; shared with other surfaces. */
  requests?: RequestMetrics;
  /** Text of `/metrics`; without it, the path does not exist. */
  metrics?: () => Promise<string>;
  log: Log;
  /** Creates spans of sampled requests; none by default. */
  traces?: ExchangeContext['traces'];
  /** Called when the server stops accepting connections. Ends live streams, so that clients reconnect elsewhere. */
  endStreams?: () => void;
  /** The origin whose pages may call this surface from a browser; `*` for any, `null` (default) for none. */
  corsOrigin?: string | null;
  /** Lets several processes share the port. Otherwise a port in use is refused, which uWS would not notice. */
  sharedPort?: boolean;
}

export interface Server {
  readonly inFlight: number;
  /** Listens and returns the port (0 chooses a free one). Rejects with a readable message if the port is in use. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Shuts down gracefully. From the start, `/readyz` answers 503 and responses close their connections. After `graceMs`, in which a load
   * balancer notices, no more connections are accepted. Once all requests have ended, or after `timeoutMs`, the rest is closed. Idle
   * connections stay open for another `lingerMs`: a client may be about to send a request, which is still answered and closes the
   * connection. Resolves with the number of exchanges that were cut off.
   */
  drain(options?: { graceMs?: number; lingerMs?: number; timeoutMs?: number }): Promise<number>;
  /** Closes the listener and every connection immediately. Can be called twice. */
  close(): void;
}

/**
 * The HTTP server of one surface: its operations and aliases, HEAD for every GET, 405 with `Allow` for other methods of
 * known paths, 404 elsewhere, `/healthz` and `/readyz`. A connection handles one request at a time: uWS closes a connection
 * whose client sends the next request before the answer.
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
    shares: options.shares ?? new Shares({ limitOf: ({ prefix }) => ({ name: prefix, perSecond: 0 }) }),
    admission: options.admission ?? new Admission(),
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
  const mcp = options.tools && mcpOperation(context, { ...options.tools, bodyBytes: limits.bodyBytes });
  for (const operation of [...options.operations, ...(mcp ? [mcp] : [])]) {
    const route = routeOf(operation, surface, limits, requests);
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
  const otherPort = options.otherPort && otherPortHint(surface, options.otherPort);
  const refuse = refusal(context, (method, path) =>
    path === '/' ? rootHint(options.pages ?? []) : otherPort?.(method, path),
  );
  const notFound = refuse(new AppError('unknown_path', 'There is no such path'));
  for (const page of options.pages ?? [])
    addPage(paths, { page, context, wrap: (handler) => sized(context, handler), notFound });
  if (options.unsubscribePage)
    addUnsubscribePage(paths, {
      ...options.unsubscribePage,
      context,
      unsubscribing: services.unsubscribing,
      wrap: (handler) => sized(context, handler),
    });
  const app = uws().App();
  const { acceptsHost = null } = options;
  const otherHost = refuse(
    new AppError('forbidden', 'The header Host names another server. ADMIN_HOSTNAMES lists the names of this one.'),
  );
  const named = (handler: Handler): Handler =>
    acceptsHost === null ? handler : (res, req) => (acceptsHost(req.getHeader('host')) ? handler : otherHost)(res, req);
  // Registered before the paths, because a WebSocket request is also a GET of this path.
  if (options.operations.some(({ path }) => path === LIVE_SOCKET_PATH)) {
    const socket = liveSocket(context);
    const upgrade: typeof socket.upgrade = (res, req, opened) =>
      named(() => socket.upgrade(res, req, opened))(res, req);
    app.ws(LIVE_SOCKET_PATH, { ...socket, upgrade } as Parameters<typeof app.ws>[1]);
  }
  paths.register(app, {
    named,
    refuse,
    preflight: (methods, notAllowed) => sized(context, preflightHandler(context, methods, notAllowed)),
  });
  return serverOf(app, {
    context,
    inFlight,
    sharedPort: options.sharedPort ?? false,
    endStreams: options.endStreams ?? (() => undefined),
  });
}

/** An overload of `listen` that is missing in the types. */
interface HostListener {
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): void;
}

/** How often to check whether all connections are closed. */
const LINGER_LOOK_MS = 20;

// LIBUS_LISTEN_DEFAULT and LIBUS_LISTEN_EXCLUSIVE_PORT, which exist only in the types.
const SHARED = 0;
const EXCLUSIVE = 1;

/** For somebody who opens the bare address in a browser. */
const rootHint = (pages: readonly Page[]): string | undefined =>
  pages.length === 0 ? undefined : `For a browser: ${pages.map(({ at }) => at).join(', ')}.`;

const refusal =
  (context: ExchangeContext, hintOf: ReturnType<typeof otherPortHint>) =>
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

/** Applies the framing checks of exchanges to handlers outside them. */
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
    // Closing the app closes its listener; closing the listener twice would crash the process.
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
      // Close right after the event loop has accepted the waiting connections. Those still in the queue would be reset.
      await new Promise((resolve) => setImmediate(resolve));
      closeListener();
      endStreams();
      const deadlineMs = performance.now() + timeoutMs;
      await inFlight.idle(timeoutMs);
      const quietMs = Math.min(performance.now() + lingerMs, deadlineMs);
      while (connections > 0 && performance.now() < quietMs) await sleep(LINGER_LOOK_MS);
      await inFlight.idle(Math.max(0, deadlineMs - performance.now()));
      const cutOff = inFlight.count;
      await new Promise((resolve) => setImmediate(resolve));
      close();
      return cutOff;
    },
    close,
  };
}
