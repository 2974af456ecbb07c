import { EventMaker, type MadeEvent, type MakerOptions } from './events.ts';
import { weighted } from './random.ts';
import type { RequestKind } from './scenario.ts';

/** A request, and what it submits. */
export interface MadeRequest {
  kind: RequestKind;
  /** Whether it goes to the Admin API. */
  toAdmin: boolean;
  text: Buffer;
  /** Events that it submits. */
  events: readonly MadeEvent[];
}

/** Requests of a job, and how often each kind occurs. */
export interface RequestsOptions extends MakerOptions {
  requests: readonly { kind: RequestKind; weight: number; events: number }[];
  headers: Record<string, string>;
  /** `customerId` of the tenants of single events, each with the crowd's users; if absent, no header is sent. */
  tenants?: readonly string[];
  hosts: { app: string; admin: string };
  /** Paths that precede those of the APIs, without a slash at the end. */
  basePaths: { app: string; admin: string };
}

/** Offsets of the pages of a leaderboard that are read. */
const PAGES = 9;
const PAGE = 10;

/** Makes requests, in order; the same ones for the same seed. */
export function createRequestMaker(options: RequestsOptions) {
  const { shape, tenants, hosts, basePaths, headers } = options;
  const maker = new EventMaker(options);
  const kinds = options.requests.map((item) => ({ item, weight: item.weight }));
  const nextKind: () => { kind: RequestKind; events: number } = weighted(kinds, maker.random);

  function next(): MadeRequest {
    const { kind, events } = nextKind();
    switch (kind) {
      case 'event':
        return event();
      case 'batch':
        return batch(Array.from({ length: events }, () => maker.next()));
      case 'total':
        return read(kind, `/v1/users/${maker.userId()}/metrics/${encodeURIComponent(maker.metricKey())}`);
      case 'leaderboard': {
        const offset = PAGE * Math.floor(maker.random() * PAGES);
        return read(
          kind,
          `/v1/leaderboards/${encodeURIComponent(maker.one(shape.leaderboards))}?limit=${PAGE}&offset=${offset}`,
        );
      }
      case 'summary':
        return read(kind, `/v1/points/${encodeURIComponent(maker.one(shape.pointsSystems))}/summary`);
    }
  }

  function event(): MadeRequest {
    const next = maker.next();
    const request = singleEvent(next, options);
    if (tenants === undefined) return request;
    const headers = { ...options.headers, 'tenant-id': maker.one(tenants) };
    return singleEvent(next, { ...options, headers });
  }

  function batch(events: MadeEvent[]): MadeRequest {
    const body = events.map(({ metricKey: key, event, idempotencyKey }) => ({
      key,
      ...event,
      ...(idempotencyKey !== null && { idempotencyKey }),
    }));
    const path = `${basePaths.admin}/v1/metrics/events?wait=true`;
    const text = requestText({ method: 'POST', path, host: hosts.admin, headers, body: JSON.stringify(body) });
    return { kind: 'batch', toAdmin: true, text, events };
  }

  function read(kind: RequestKind, path: string): MadeRequest {
    const text = requestText({ method: 'GET', path: basePaths.app + path, host: hosts.app, headers });
    return { kind, toAdmin: false, text, events: [] };
  }

  return { next };
}

export type RequestMaker = ReturnType<typeof createRequestMaker>;

/** The request of a single event. */
export function singleEvent(
  made: MadeEvent,
  { hosts, basePaths, headers }: Pick<RequestsOptions, 'hosts' | 'basePaths' | 'headers'>,
): MadeRequest {
  const { metricKey, event, idempotencyKey } = made;
  const text = requestText({
    method: 'POST',
    path: `${basePaths.app}/v1/metrics/${encodeURIComponent(metricKey)}/event`,
    host: hosts.app,
    headers: idempotencyKey === null ? headers : { ...headers, 'idempotency-key': idempotencyKey },
    body: JSON.stringify(event),
  });
  return { kind: 'event', toAdmin: false, text, events: [made] };
}

function requestText(request: {
  method: 'GET' | 'POST';
  path: string;
  host: string;
  headers: Record<string, string>;
  body?: string;
}): Buffer {
  const { method, path, host, headers, body } = request;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const content =
    body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}${content}\r\n${body ?? ''}`);
}
