import type { Configuration } from '../../../src/domain/configuration.ts';
import type { NotificationType } from '../../../src/domain/notification.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

/** A message as the log holds it. */
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

  private constructor(laurel: TestLaurel) {
    this.laurel = laurel;
  }

  static async start(now: string, configuration: Configuration = {}): Promise<Listening> {
    const started = new Listening(await startLaurel({ testClock: true, workers: true, webhookAllowPrivate: true }));
    await started.to(now);
    await started.put('/v1/configuration', configuration);
    return started;
  }

  /** Adds a webhook; its ID. Nobody listens at its address. */
  async listen(...events: NotificationType[]): Promise<string> {
    const url = 'http://127.0.0.1:9/';
    const { body } = await this.laurel.admin.post('/v1/webhooks', [{ name: 'Test', url, events }]);
    return body.created[0].id;
  }

  /** Sets the clock, `YYYY-MM-DDTHH:MM[:SS]` in UTC, and waits for what is due by then. */
  async to(time: string): Promise<void> {
    await this.put('/v1/clock', { now: new Date(`${time}Z`).toISOString() });
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

  /** The same, without payloads: `[time, type, user]`. */
  async summary(webhookId?: string): Promise<[at: string, type: string, user: string | null][]> {
    return (await this.messages(webhookId)).map(({ at, type, user }) => [at, type, user]);
  }

  private async put(path: string, sent: object): Promise<void> {
    const { status, body } = await this.laurel.admin.put(path, sent);
    if (status !== 200) throw new Error(`PUT ${path} was refused: ${JSON.stringify(body)}`);
  }

  close(): Promise<void> {
    return this.laurel.close();
  }
}
