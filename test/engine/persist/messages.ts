import type { Pool } from 'pg';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { WebhookFilter } from '../../../src/domain/schemas.ts';
import { WEBHOOK_EVENTS } from '../../../src/domain/notifications/webhook.ts';
import { Reporter } from '../../../src/engine/notifications/reporter.ts';
import { Persister, type PersisterOptions } from '../../../src/engine/persist/persister.ts';
import { checkPayload } from '../../contract/contract.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

/** One event of `flips` triggers everything. */
export const CONFIGURATION: Configuration = {
  metrics: [
    { key: 'flips', name: 'Flips' },
    { key: 'minutes', name: 'Minutes' },
  ],
  achievements: [
    { key: 'first', name: 'First', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
    { key: 'tour', name: 'Tour', trigger: 'api', status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      levels: [{ key: 'novice', name: 'Novice', points: 10 }],
      triggers: [{ type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 10, status: 'active' }],
    },
    { key: 'coins', name: 'Coins' },
  ],
  leaderboards: [
    { key: 'other', name: 'Other', rankBy: 'metric', metricKey: 'minutes', start: '2026-01-01', status: 'active' },
    { key: 'top', name: 'Top', rankBy: 'metric', metricKey: 'flips', start: '2026-01-01', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily' },
};

/** The notifications of a first event of `flips`, in this order. */
export const FIRST_EVENT = [
  'streak.started',
  'achievement.completed',
  'points.changed',
  'points.level_changed',
  'leaderboard.rank_changed',
];

export interface StoredMessage {
  type: string;
  user: string | null;
  webhook: string;
  id: string;
  payload: { type: string } & Record<string, unknown>;
}

/** A Laurel without workers, whose outbox the test persists. */
export class Reported {
  readonly laurel: TestLaurel;
  readonly clock: FixedClock;
  readonly leftOut: unknown[] = [];
  readonly reporter: Reporter;

  private constructor(laurel: TestLaurel, clock: FixedClock) {
    this.laurel = laurel;
    this.clock = clock;
    const catalogs = new Catalogs(laurel.pool);
    this.reporter = new Reporter({
      redis: laurel.redis,
      pool: laurel.pool,
      catalogs,
      clock,
      onLeftOut: (error) => this.leftOut.push(error),
    });
  }

  /** `configuration`: instead of `CONFIGURATION`. */
  static async start(configuration = CONFIGURATION): Promise<Reported> {
    const clock = new FixedClock(Date.UTC(2026, 2, 2, 9, 30));
    return new Reported(await startLaurel({ clock, configuration }), clock);
  }

  get pool(): Pool {
    return this.laurel.pool;
  }

  /** Creates a webhook for all types, with the given overrides; returns its ID. */
  async webhook(fields: { events?: string[]; filter?: WebhookFilter; enabled?: boolean } = {}): Promise<string> {
    const item = { name: 'All', url: 'https://example.com/', events: [...WEBHOOK_EVENTS], ...fields };
    const { body } = await this.laurel.admin.post('/v1/webhooks', [item]);
    return (body as { created: { id: string }[] }).created[0]!.id;
  }

  /** ID of a resource of the configuration. */
  async idOf(list: 'metrics' | 'points' | 'leaderboards', key: string): Promise<string> {
    const { body } = await this.laurel.admin.get(`/v1/${list}`);
    return (body as { id: string; key: string }[]).find((one) => one.key === key)!.id;
  }

  event = (user: string, value: number, key?: string): Promise<{ status: number; body: unknown }> =>
    this.laurel.app.post(
      '/v1/metrics/flips/event',
      { user: { id: user }, value },
      key ? { headers: { 'Idempotency-Key': key } } : {},
    );

  /** Stores the outbox. */
  persist(onStep?: PersisterOptions['onStep']): Promise<number> {
    const { redis, pool } = this.laurel;
    const persister = new Persister({ redis, pool, reporter: this.reporter, ...(onStep && { onStep }) });
    return persister.drain(0, AbortSignal.abort());
  }

  /** The messages in the order of their sequences; each payload is checked against the contract. */
  async messages(where = 'true'): Promise<StoredMessage[]> {
    const { rows } = await this.pool.query<Omit<StoredMessage, 'payload'> & { payload: string }>(
      `SELECT type, user_id AS user, webhook_id AS webhook, id, payload FROM webhook_messages
        WHERE ${where} ORDER BY sequence`,
    );
    return rows.map((row) => {
      const payload = JSON.parse(row.payload) as StoredMessage['payload'];
      checkPayload(payload);
      return { ...row, payload };
    });
  }

  types = async (where?: string): Promise<string[]> => (await this.messages(where)).map(({ type }) => type);

  /** Removes webhooks, messages and users, for the next test. */
  async clean(): Promise<void> {
    const { admin, pool } = this.laurel;
    const { body } = await admin.get('/v1/webhooks');
    const ids = (body as { id: string }[]).map(({ id }) => id);
    if (ids.length > 0) await admin.delete(`/v1/webhooks?ids=${ids.join(',')}`);
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM users');
    for (const { id } of rows) await admin.delete(`/v1/users?ids=${encodeURIComponent(id)}`);
    await this.persist();
    await pool.query(
      'TRUNCATE webhook_messages, webhook_queue, notification_windows, notification_completions, dead_letters',
    );
    this.leftOut.length = 0;
  }

  close = (): Promise<void> => this.laurel.close();
}
