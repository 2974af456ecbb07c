import { Counter, Gauge, Registry } from 'prom-client';
import { type Admission, QUEUES } from '../http/access/admission.ts';
import type { Server } from '../http/listening.ts';
import { RequestMetrics } from '../http/request-metrics.ts';
import { Histogram } from '../telemetry/metrics.ts';
import { registerScriptCalls } from '../redis/script.ts';
import { collectProcessMetrics, registerClockSkew } from './process-metrics.ts';

const EVENTS_A_CALL = [1, 2, 4, 8, 16, 32, 64];

export class FrontendMetrics {
  readonly registry = new Registry();
  readonly requests = new RequestMetrics(this.registry);
  private readonly eventsACall = new Histogram({
    name: 'laurel_events_per_call',
    help: 'Number of events that one script call applied together, excluding batches, which workers process.',
    bounds: EVENTS_A_CALL,
  });
  readonly called: (events: number) => void;

  constructor() {
    collectProcessMetrics(this.registry);
    registerScriptCalls(this.registry);
    this.eventsACall.register(this.registry);
    const calls = this.eventsACall.series();
    this.called = (events) => calls.observe(events);
    const reports = new Counter({
      name: 'laurel_email_feedback_total',
      help: 'Reports of mail providers about e-mails: delivered, bounced, complained, repeated, unknown, ignored, or invalid.',
      labelNames: ['outcome'],
      registers: [this.registry],
    });
    this.reported = (outcome, count) => reports.inc({ outcome }, count);
    const seen = new Counter({
      name: 'laurel_messages_seen_total',
      help: 'What users did with messages: opened, clicked, unsubscribed; or repeated, ignored (not tracked, unknown or hidden), or lost.',
      labelNames: ['outcome'],
      registers: [this.registry],
    });
    this.seen = (outcome, count) => seen.inc({ outcome }, count);
  }

  /** Counts what users do with messages. */
  readonly seen: (outcome: string, count: number) => void;

  /** Counts what mail providers report about e-mails. */
  readonly reported: (outcome: string, count: number) => void;

  watchServers(servers: Readonly<Record<string, Pick<Server, 'inFlight' | 'connections'>>>): void {
    const all = Object.entries(servers);
    new Gauge({
      name: 'laurel_http_requests_in_flight',
      help: 'Requests in flight, by surface.',
      labelNames: ['surface'],
      registers: [this.registry],
      collect() {
        for (const [surface, server] of all) this.set({ surface }, server.inFlight);
      },
    });
    new Gauge({
      name: 'laurel_http_connections',
      help: 'Open connections of clients, by surface.',
      labelNames: ['surface'],
      registers: [this.registry],
      collect() {
        for (const [surface, { connections }] of all) this.set({ surface }, connections.count);
      },
    });
    new Gauge({
      name: 'laurel_http_connections_limit',
      help: 'The most connections that clients may have open, by surface. Above 75 %, answers close their connections.',
      labelNames: ['surface'],
      registers: [this.registry],
      collect() {
        for (const [surface, { connections }] of all) this.set({ surface }, connections.most);
      },
    });
    new Counter({
      name: 'laurel_http_connections_refused_total',
      help: 'Connections that were closed at once because there were too many, by surface.',
      labelNames: ['surface'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [surface, { connections }] of all) this.inc({ surface }, connections.refused);
      },
    });
  }

  watchAdmission(admission: Pick<Admission, 'waitMs'>): void {
    new Gauge({
      name: 'laurel_http_queue_wait_seconds',
      help: 'How long another request would wait, by queue; 0 below the number that is always accepted, and above a limit requests are refused with 503 (`overloaded`).',
      labelNames: ['queue'],
      registers: [this.registry],
      collect() {
        for (const queue of QUEUES) this.set({ queue }, admission.waitMs(queue) / 1000);
      },
    });
  }

  watchClock(skew: { readonly ms: number }): void {
    registerClockSkew(this.registry, skew);
  }

  watchLive(live: { readonly count: number; readonly sent: number }): void {
    new Gauge({
      name: 'laurel_live_connections',
      help: 'Open live streams.',
      registers: [this.registry],
      collect() {
        this.set(live.count);
      },
    });
    new Counter({
      name: 'laurel_live_messages_total',
      help: 'Messages sent over live streams, excluding heartbeats.',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(live.sent);
      },
    });
  }
}
