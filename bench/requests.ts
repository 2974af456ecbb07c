import type { LoadJob, RequestKind } from './jobs.ts';
import { EventMaker } from './shape.ts';

export interface MadeRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Events that it submits. */
  events: number;
  /** The status of processed events. */
  done: 200 | 201;
}

/** Events per batch: the maximum. */
export const BATCH_EVENTS = 1_000;
/** In mixed traffic: a share of reads, in equal parts. */
const READS = ['metric', 'board', 'summary'] as const;
const EVENTS_OF_MIX = 0.7;

/** Makes the requests of a job, in order; the same ones for the same seed. */
export class RequestMaker {
  private readonly job: LoadJob;
  private readonly events: EventMaker;
  private made = 0;

  constructor(job: LoadJob) {
    this.job = job;
    this.events = new EventMaker(job);
  }

  next(kind: RequestKind = this.job.requests): MadeRequest {
    this.made += 1;
    switch (kind) {
      case 'mix':
        return this.next(this.events.random() < EVENTS_OF_MIX ? 'event' : READS[this.made % READS.length]!);
      case 'event':
        return this.event();
      case 'batch':
        return this.batch();
      case 'metric':
        return this.read(`/v1/users/${this.events.userId()}/metrics/${this.events.metricKey()}`);
      case 'board':
        return this.read(`/v1/leaderboards/${this.job.shape.board}?limit=10&offset=${this.made % 90}`);
      case 'summary':
        return this.read(`/v1/points/${this.job.shape.pointsSystem}/summary`);
    }
  }

  private event(): MadeRequest {
    const { metricKey, event, idempotencyKey } = this.events.next();
    const path = `/v1/metrics/${metricKey}/event`;
    const request = this.post(path, event);
    if (idempotencyKey !== null) request.headers['idempotency-key'] = idempotencyKey;
    const { tenants } = this.job;
    if (tenants !== undefined)
      request.headers['tenant-id'] = tenants[Math.floor(this.events.random() * tenants.length)]!;
    return { ...request, events: 1, done: 201 };
  }

  private batch(): MadeRequest {
    const events = Array.from({ length: BATCH_EVENTS }, () => {
      const { metricKey: key, event, idempotencyKey } = this.events.next();
      return { key, ...event, ...(idempotencyKey !== null && { idempotencyKey }) };
    });
    return { ...this.post('/v1/metrics/events?wait=true', events), events: BATCH_EVENTS, done: 200 };
  }

  private post(path: string, content: object): MadeRequest {
    const headers = { 'x-api-key': this.job.apiKey, 'content-type': 'application/json' };
    return { method: 'POST', path, headers, body: JSON.stringify(content), events: 0, done: 201 };
  }

  private read(path: string): MadeRequest {
    return { method: 'GET', path, headers: { 'x-api-key': this.job.apiKey }, body: '', events: 0, done: 200 };
  }
}

/** A request in its wire format (HTTP/1.1). */
export function requestText({ method, path, headers, body }: MadeRequest): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === 'POST' ? `content-length: ${Buffer.byteLength(body)}\r\n` : '';
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join('')}${length}\r\n${body}`);
}
