import { createRequire } from 'node:module';
import type * as Current from 'uws-current';
import type * as Older from 'uws-older';

// Two releases of uWebSockets.js are installed, and one of them loads. The types are unions, so that the code compiles
// against both.
type Uws = typeof Current | typeof Older;
export type HttpRequest = Current.HttpRequest | Older.HttpRequest;
export type HttpResponse = Current.HttpResponse | Older.HttpResponse;
export type TemplatedApp = Current.TemplatedApp | Older.TemplatedApp;
export type WebSocket<T> = Current.WebSocket<T> | Older.WebSocket<T>;
export type SocketContext = Current.us_socket_context_t | Older.us_socket_context_t;
/** The part that Laurel uses, in a form that compiles against both releases. */
export interface WebSocketBehavior<T> {
  maxPayloadLength: number;
  maxBackpressure: number;
  closeOnBackpressureLimit: boolean;
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  compression: number;
  upgrade: (res: HttpResponse, req: HttpRequest, context: SocketContext) => void;
  open: (ws: WebSocket<T>) => void;
  message: (ws: WebSocket<T>) => void;
  ping: (ws: WebSocket<T>) => void;
  pong: (ws: WebSocket<T>) => void;
  drain: (ws: WebSocket<T>) => void;
  close: (ws: WebSocket<T>) => void;
}
export type ListenSocket = Current.us_listen_socket | Older.us_listen_socket;

/** Newest first, with their releases of Node. `uws-current` needs glibc 2.38, `uws-older` works on Debian 12. */
const RELEASES = [
  { name: 'uws-current', nodes: [22, 24, 26] },
  { name: 'uws-older', nodes: [20, 22, 23] },
];

/** uWS's limit for the head in bytes, answered in HTML. Laurel's own is lower (`request-head.ts`). */
const MAX_HEADERS_BYTES = 65_536;

let loaded: Uws | undefined;

/** Loads uWebSockets.js on first use, with its header limit. Throws a readable error if there is no binary. */
export function uws(): Uws {
  if (loaded) return loaded;
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(MAX_HEADERS_BYTES);
  loaded = loadFirst(releasesFor(process.versions.node)) as Uws;
  return loaded;
}

/** Packages for this release of Node, newest first. On Node 20 the newer one would load the older one's binary. */
export function releasesFor(node: string): string[] {
  const major = Number(node.split('.')[0]);
  return RELEASES.filter(({ nodes }) => nodes.includes(major)).map(({ name }) => name);
}

/** Loads the first package that works here. Otherwise throws an AggregateError that says what to do. */
export function loadFirst(names: readonly string[]): unknown {
  const require = createRequire(import.meta.url);
  const errors: unknown[] = [];
  for (const name of names) {
    try {
      return require(name);
    } catch (error) {
      errors.push(error);
    }
  }
  const isInstalled = names.length === 0 || !errors.every(isNotInstalled);
  throw new AggregateError(errors, isInstalled ? unsupported() : notInstalled(names));
}

/** Whether the package is missing. An installed package without a matching binary throws an error without a code. */
const isNotInstalled = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND';

const notInstalled = (names: readonly string[]): string =>
  `The HTTP server (${names.join(', ')}) is not installed: run "npm ci" without --omit=optional.`;

function unsupported(): string {
  const { node } = process.versions;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const glibc = header.glibcVersionRuntime;
  const libc = process.platform !== 'linux' ? '' : glibc === undefined ? ' without glibc' : ` with glibc ${glibc}`;
  return (
    `The HTTP server has no binary for Node ${node} on ${process.platform} ${process.arch}${libc}: run Laurel with ` +
    'Node 22, 24 or 26 on macOS, Windows or Linux with glibc 2.38 or newer (Debian 13, Ubuntu 24.04), ' +
    'or with Node 20 or 22 on Linux with an older glibc.'
  );
}
