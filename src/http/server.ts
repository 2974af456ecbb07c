import type { KeyObject } from 'node:crypto';
import { Registry } from 'prom-client';
import { AppError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Services } from '../engine/services.ts';
import { type Log, LogThrottle } from '../telemetry/log.ts';
import { ConnectionLimit } from './access/connection-limit.ts';
import { corsHeaders, preflightHandler } from './access/cors.ts';
import type { AcceptsHost } from '../domain/host-names.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { Exchange } from './exchange.ts';
import { createRefuseAtOnce } from './refused-at-once.ts';
import { healthHandler, metricsHandler, type Readiness, readyHandler } from './health.ts';
import { LIVE_SOCKET_PATH, liveSocket } from './live-connections.ts';
import { mcpOperation } from './mcp/endpoint.ts';
import { addPage, type Page } from './pages.ts';
import { addTrackingPaths } from './tracking-paths.ts';
import { addUnsubscribePage } from './unsubscribe-page.ts';
import { type Handler, type OtherPort, otherPortHint, Paths, similarPathHint } from './paths.ts';
import type { NetworkLimit, RateLimit } from './access/rate-limit.ts';
import { Admission } from './access/admission.ts';
import { Shares } from './access/shares.ts';
import { framingFault, readHead, requestIdOf, sizeFault } from './request-head.ts';
import { RequestMetrics } from './request-metrics.ts';
import { errorResponse, write } from './respond.ts';
import { routeOf } from './route.ts';
import type { ResolveTenant } from './access/tenancy.ts';
import { InFlight, listening, type Server } from './listening.ts';
import { uws } from './uws.ts';

/** Log interval, per operation, while a dependency is unreachable. */
const REPEAT_MS = 1_000;

export interface ServerOptions {
  surface: Operation['surface'];
  operations: readonly Operation[];
  /** The other surface, for hints in errors; `undefined` if there is none. */
  otherPort?: OtherPort;
  services: Services;
  authenticate: ExchangeContext['authenticate'];
  /** Lets requests that would wait too long be refused before their keys are checked; by default afterwards. */
  senderOf?: ExchangeContext['senderOf'];
  /** Sessions accepted in place of keys; none by default. */
  sessions?: ExchangeContext['sessions'];
  resolveTenant: ResolveTenant;
  /** `bodyBytes`: limit for every request body. Operations may set a lower one. */
  limits: { bodyBytes: number };
  /** Further connections are refused. Unlimited by default. */
  mostConnections?: number;
  /** Limits callers' requests; `undefined` for no limit. */
  rateLimit?: RateLimit | undefined;
  /** Callers' shares of the process's time; shared with other surfaces. By default, only tenants have shares. */
  shares?: Shares;
  /** Refuses requests that would wait too long; shared with other surfaces. */
  admission?: Admission;
  /** Limits requests for files without a key, by address; `undefined` for no limit. */
  fileLimit?: NetworkLimit | undefined;
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
  /** Serves the pages that links in e-mails lead to; default: false. */
  mailPages?: boolean;
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
    senderOf: options.senderOf ?? (() => null),
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
    connections: new ConnectionLimit({
      surface,
      most: options.mostConnections ?? Infinity,
      trusted: options.trustedProxies ?? [],
      log,
    }),
    get closes() {
      return this.draining || this.connections.isCrowded;
    },
    cors: options.corsOrigin === undefined || options.corsOrigin === null ? null : corsHeaders(options.corsOrigin),
    begun: () => inFlight.begun(),
    ended: () => inFlight.ended(),
  };
  const paths = new Paths();
  const refuseAtOnce = createRefuseAtOnce(context);
  const mcp = options.tools && mcpOperation(context, { ...options.tools, bodyBytes: limits.bodyBytes });
  for (const operation of [...options.operations, ...(mcp ? [mcp] : [])]) {
    const route = routeOf(operation, surface, limits, requests);
    for (const path of [operation.path, ...operation.aliases])
      paths.add(path, operation.method, (headOnly) => (res, req) => {
        if (!refuseAtOnce(route, { res, req, headOnly })) new Exchange(context, { route, res, headOnly }).begin(req);
      });
  }
  const health = {
    '/healthz': healthHandler(context),
    '/readyz': readyHandler(context, { readiness, notices: options.notices ?? (() => []) }),
    ...(options.metrics && { '/metrics': metricsHandler(context, options.metrics) }),
  };
  for (const [path, handler] of Object.entries(health))
    paths.add(path, 'get', (headOnly) => sized(context, handler(headOnly)));
  const otherPort = options.otherPort && otherPortHint(surface, options.otherPort);
  const similar = similarPathHint(options.operations);
  const refuse = refusal(context, (method, path) =>
    path === '/' ? rootHint(options.pages ?? []) : (otherPort?.(method, path) ?? similar(method, path)),
  );
  const notFound = refuse(new AppError('unknown_path', 'There is no such path'));
  for (const page of options.pages ?? [])
    addPage(paths, { page, context, wrap: (handler) => sized(context, handler), notFound });
  if (options.mailPages) {
    const wrap = (handler: Handler): Handler => sized(context, handler);
    const { unsubscribing, tracking, seenMessages } = services;
    addUnsubscribePage(paths, { context, unsubscribing, wrap });
    addTrackingPaths(paths, { context, tracking, seenMessages, wrap });
  }
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
  return listening(app, {
    context,
    inFlight,
    sharedPort: options.sharedPort ?? false,
    endStreams: options.endStreams ?? (() => undefined),
  });
}

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
        close: context.closes,
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
