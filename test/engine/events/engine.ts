import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { compileCatalog, type CompiledCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { Catalog } from '../../../src/domain/catalog.ts';
import type { EventResponse } from '../../../src/domain/event.ts';
import { createLateEvents, type LateEvents } from '../../../src/engine/corrections/late-events.ts';
import { createEventBatcher, type EventBatcherOptions } from '../../../src/engine/events/event-batcher.ts';
import { createEventEngine, type EventEngine } from '../../../src/engine/events/event-engine.ts';
import { createEventRanks } from '../../../src/engine/leaderboards/wide-ranks.ts';
import { Scripts } from '../../../src/engine/scripts.ts';
import { KeyedIds } from '../../../src/engine/ids.ts';
import { UserReads } from '../../../src/engine/users/user-reads.ts';
import { CatalogBuilder } from '../catalog-builder.ts';

/** For engines whose events all happen now. */
const noPool = null as unknown as Pool;

interface TestEngineOptions {
  findPersisted?: EventBatcherOptions['findPersisted'];
  pool?: Pool | undefined;
  /** How long a call with an unknown outcome is retried: long, because a busy machine takes long to connect again. */
  retryMs?: number;
}

/** An engine with a real Redis, a catalog from the test and a clock that the test moves. */
export class TestEngine {
  readonly clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
  readonly ids = new KeyedIds(Buffer.alloc(32, 7));
  readonly redis: Redis;
  readonly users: UserReads;
  readonly engine: EventEngine;
  readonly scripts: Scripts;
  /** Whether calls about one user are refused. */
  overloaded = false;
  readonly late: LateEvents;
  readonly compiled: () => CompiledCatalog;
  catalog: Catalog;

  constructor(
    redisUrl: string,
    catalog: Catalog,
    { findPersisted, pool = noPool, retryMs = 60_000 }: TestEngineOptions = {},
  ) {
    this.redis = new Redis(redisUrl, { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false });
    this.redis.setMaxListeners(0);
    this.catalog = catalog;
    this.users = new UserReads(this.redis);
    const compiled = new Map<Catalog, ReturnType<typeof compileCatalog>>();
    const get = (): ReturnType<typeof compileCatalog> => {
      let current = compiled.get(this.catalog);
      if (current === undefined) compiled.set(this.catalog, (current = compileCatalog(this.catalog)));
      return current;
    };
    const { redis, clock } = this;
    this.scripts = new Scripts({
      redis,
      clock,
      onWritten: () => undefined,
      overloaded: () => this.overloaded,
      retryMs,
    });
    const batcher = createEventBatcher({
      redis,
      scripts: this.scripts,
      clock,
      findPersisted: findPersisted ?? (async () => new Map()),
      lookUpKeys: () => Promise.reject(new Error('no key is old')),
      addRanks: createEventRanks(redis, pino({ level: 'silent' })),
    });
    this.late = createLateEvents(this.redis, pool, this.clock, pino({ level: 'silent' }));
    this.compiled = get;
    this.engine = createEventEngine({
      catalogs: { get, load: async () => get() },
      batcher,
      ids: this.ids,
      clock: this.clock,
      overloaded: () => false,
      late: this.late,
    });
  }

  /** Records an event; returns the parsed answer with its status. */
  async event(
    metricKey: string,
    user:
      | string
      | {
          id: string;
          tz?: string | null;
          attributes?: Record<string, string>;
          subscribeToEmails?: boolean;
          email?: string;
        },
    value: number,
    more: { attributes?: Record<string, string>; key?: string; occurredAt?: string; metadata?: object } = {},
  ): Promise<EventResponse & { status: number }> {
    await this.ready();
    const { status, json } = await this.engine.record(this.catalog.tenantNo, metricKey, {
      event: {
        user: typeof user === 'string' ? { id: user } : user,
        value,
        ...(more.attributes !== undefined && { attributes: more.attributes }),
        ...(more.occurredAt !== undefined && { occurredAt: more.occurredAt }),
        ...(more.metadata !== undefined && { metadata: more.metadata as Record<string, unknown> }),
      },
      idempotencyKey: more.key ?? null,
    });
    return { status, ...(JSON.parse(json) as EventResponse) };
  }

  /** Resolves when Redis is available. Until then an engine answers 503. */
  async ready(): Promise<void> {
    if (this.redis.status !== 'ready') await once(this.redis, 'ready');
  }

  async close(): Promise<void> {
    await this.redis.flushall();
    await this.redis.quit();
  }
}

/** Creates a runner for tests with an engine and a catalog of its own. Empties Redis after each test. */
export const withEngineOn =
  (redisUrl: () => string) =>
  async (build: (builder: CatalogBuilder) => void, run: (laurel: TestEngine) => Promise<void>): Promise<void> => {
    const builder = new CatalogBuilder();
    build(builder);
    const laurel = new TestEngine(redisUrl(), builder.catalog);
    try {
      await run(laurel);
    } finally {
      await laurel.close();
    }
  };
