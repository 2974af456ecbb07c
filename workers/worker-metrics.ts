import { createServer } from 'node:http';
import { Counter, Gauge, Registry } from 'prom-client';
import { guardName } from '../src/engine/events/event-answer.ts';
import type { Stored } from '../src/engine/persist/persister.ts';
import type { KindState } from '../src/engine/schedule/schedule.ts';
import { hostCheck } from '../src/domain/host-names.ts';
import { collectProcessMetrics, registerClockSkew } from '../src/processes/process-metrics.ts';
import { registerScriptCalls } from '../src/redis/script.ts';
import { StartError } from '../src/start-error.ts';
import type { Log } from '../src/telemetry/log.ts';
import { DURATION_BUCKETS, Histogram } from '../src/telemetry/metrics.ts';

export class WorkerMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly entries = new Counter({
    name: 'laurel_persisted_entries_total',
    help: 'Outbox entries (one per script call) that this process stored in Postgres.',
    registers: this.registers,
  });
  private readonly events = new Counter({
    name: 'laurel_persisted_events_total',
    help: 'Events that this process stored in Postgres.',
    registers: this.registers,
  });
  private readonly guarded = new Counter({
    name: 'laurel_guarded_events_total',
    help: 'Events that guards of metrics refused, clamped or quarantined, as recorded in Postgres by this process.',
    labelNames: ['guard', 'outcome'],
    registers: this.registers,
  });
  private readonly transactions = new Histogram({
    name: 'laurel_persist_transaction_duration_seconds',
    help: 'Duration of transactions that store outbox entries.',
    bounds: DURATION_BUCKETS,
  });
  private readonly transaction = this.transactions.series();

  constructor() {
    collectProcessMetrics(this.registry);
    registerScriptCalls(this.registry);
    this.transactions.register(this.registry);
  }

  readonly stored = ({ entries, events, guarded, ms }: Stored): void => {
    this.entries.inc(entries);
    this.events.inc(events);
    for (const { guard, outcome } of guarded) this.guarded.inc({ guard: guardName(guard), outcome });
    this.transaction.observe(ms / 1000);
  };

  watchClock(skew: { readonly ms: number }): void {
    registerClockSkew(this.registry, skew);
  }

  /** Adds how late each kind of scheduled work is, as far as this process does it. */
  watchSchedule(schedule: { states(): readonly KindState[] }): void {
    new Gauge({
      name: 'laurel_scheduled_work_overdue_seconds',
      help: 'How long ago the oldest unfinished work of a kind became due; only from the process that does the work.',
      labelNames: ['kind'],
      registers: this.registers,
      collect() {
        for (const { kind, overdueMs } of schedule.states()) this.set({ kind }, overdueMs / 1000);
      },
    });
    new Gauge({
      name: 'laurel_scheduled_work_set_aside',
      help: 'Pieces of scheduled work that failed and wait for a retry, by kind; 1 if a whole kind failed.',
      labelNames: ['kind'],
      registers: this.registers,
      collect() {
        for (const { kind, aside } of schedule.states()) this.set({ kind }, aside);
      },
    });
  }
}

const TEXT = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };

/** Serves `/metrics` and `/healthz` on a worker's port. Returns a function that closes it. Throws a `StartError`. */
export async function openMetricsPort(
  { host, port, hostnames }: { host: string; port: number; hostnames: readonly string[] },
  read: () => Promise<string>,
  log: Log,
): Promise<() => Promise<void>> {
  const acceptsHost = hostCheck(host, hostnames);
  const server = createServer((request, response) => {
    if (acceptsHost !== null && !acceptsHost(request.headers.host ?? '')) return void response.writeHead(403).end();
    const path = request.url?.split('?')[0];
    if (path === '/healthz') return void response.end('ok\n');
    if (path !== '/metrics') return void response.writeHead(404).end();
    read().then(
      (text) => response.writeHead(200, TEXT).end(text),
      (error: unknown) => {
        log.warn({ err: error }, 'the metrics could not be read');
        response.writeHead(503).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new StartError(`A worker cannot listen on ${host}, port ${port} (${error.code}); see METRICS_PORT.`)),
    );
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
