import { Counter, Gauge, Registry } from 'prom-client';
import { RequestMetrics } from '../http/request-metrics.ts';
import { Histogram } from '../telemetry/metrics.ts';
import { registerScriptCalls } from '../redis/script.ts';
import { collectProcessMetrics, registerClockSkew } from './process-metrics.ts';

const EVENTS_A_CALL = [1, 2, 4, 8, 16, 32, 64];

/** What one frontend process measures of itself. */
export class FrontendMetrics {
  readonly registry = new Registry();
  readonly requests = new RequestMetrics(this.registry);
  private readonly eventsACall = new Histogram({
    name: 'laurel_events_per_call',
    help: 'Events that one call of the script applied together; batches, which workers process, are not in it.',
    bounds: EVENTS_A_CALL,
  });
  /** Observes a call of the script that applies events. */
  readonly called: (events: number) => void;

  constructor() {
    collectProcessMetrics(this.registry);
    registerScriptCalls(this.registry);
    this.eventsACall.register(this.registry);
    const calls = this.eventsACall.series();
    this.called = (events) => calls.observe(events);
  }

  /** Has it say how many requests each surface works on. */
  watchInFlight(servers: Readonly<Record<string, { readonly inFlight: number }>>): void {
    new Gauge({
      name: 'laurel_http_requests_in_flight',
      help: 'Requests that are being worked on, by surface.',
      labelNames: ['surface'],
      registers: [this.registry],
      collect() {
        for (const [surface, server] of Object.entries(servers)) this.set({ surface }, server.inFlight);
      },
    });
  }

  /** Has it say how far this process's clock is from that of Redis. */
  watchClock(skew: { readonly ms: number }): void {
    registerClockSkew(this.registry, skew);
  }

  /** Has it say how many live streams there are, and how much they were sent. */
  watchLive(live: { readonly count: number; readonly sent: number }): void {
    new Gauge({
      name: 'laurel_live_connections',
      help: 'Live streams that are open.',
      registers: [this.registry],
      collect() {
        this.set(live.count);
      },
    });
    new Counter({
      name: 'laurel_live_messages_total',
      help: 'Messages that were sent over live streams, without signs of life.',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(live.sent);
      },
    });
  }
}
