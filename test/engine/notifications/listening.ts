import { setTimeout as sleep } from 'node:timers/promises';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { Receiver } from '../webhooks/receiver.ts';

/** A message in the log. */
export interface Message {
  /** `YYYY-MM-DDTHH:MM` in UTC. */
  at: string;
  type: NotificationType;
  user: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- as the body of an answer
  payload: any;
}

/** A Laurel with workers under the test clock and a webhook, whose log the test reads. */
export class Listening {
  readonly laurel: TestLaurel;
  /** Accepts what is sent: a webhook that only fails would be disabled after some days. */
  private readonly receiver: Receiver;

  private constructor(laurel: TestLaurel, receiver: Receiver) {
    this.laurel = laurel;
    this.receiver = receiver;
  }

  static async start(
    now: string,
    configuration: Configuration = {},
    more: { spread?: number } = {},
  ): Promise<Listening> {
    const receiver = await Receiver.start();
    const worker = { delivery: { allowPrivate: true } };
    const laurel = await startLaurel({ testClock: true, workers: true, webhookAllowPrivate: true, worker, ...more });
    const started = new Listening(laurel, receiver);
    await started.to(now);
    await started.put('/v1/configuration', configuration);
    await started.filled();
    return started;
  }

  /** Adds a webhook; returns its ID. */
  async listen(...events: NotificationType[]): Promise<string> {
    const { url } = this.receiver;
    const { body } = await this.laurel.admin.post('/v1/webhooks', [{ name: 'Test', url, events }]);
    return body.created[0].id;
  }

  /** Sets the clock, `YYYY-MM-DDTHH:MM[:SS]` in UTC, and waits for what is due by then. */
  async to(time: string): Promise<void> {
    await this.put('/v1/clock', { now: new Date(`${time}Z`).toISOString() });
  }

  /** Waits until what happened is stored, and therefore reported at the clock's present time. */
  async stored(): Promise<void> {
    while ((await this.laurel.redis.xlen(outboxKey(0))) > 0) await sleep(20);
  }

  /** The messages so far in the order of their sequences, of one webhook or of all. */
  async messages(webhookId?: string): Promise<Message[]> {
    const { rows } = await this.laurel.pool.query<{ at: Date; type: NotificationType; user: string; payload: string }>(
      `SELECT at, type, user_id AS "user", payload FROM webhook_messages
        WHERE webhook_id = coalesce($1, webhook_id) ORDER BY sequence`,
      [webhookId ?? null],
    );
    return rows.map(({ at, type, user, payload }) => ({
      at: at.toISOString().slice(0, 16),
      type,
      user,
      payload: JSON.parse(payload),
    }));
  }

  /** Leaderboards take part when they are filled. */
  private async filled(): Promise<void> {
    for (;;) {
      const { rowCount } = await this.laurel.pool.query(
        "SELECT FROM jobs WHERE kind = 'leaderboard_filling' AND status <> 'done'",
      );
      if (rowCount === 0) return;
      await sleep(20);
    }
  }

  private async put(path: string, sent: object): Promise<void> {
    const { status, body } = await this.laurel.admin.put(path, sent);
    if (status !== 200) throw new Error(`PUT ${path} was refused: ${JSON.stringify(body)}`);
  }

  async close(): Promise<void> {
    await this.laurel.close();
    await this.receiver.close();
  }
}
