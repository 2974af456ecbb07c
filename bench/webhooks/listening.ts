import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type AdminOptions, askAdmin } from '../../src/cli/admin-api.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';

const DELIVERED_TIMEOUT_MS = 300_000;
const LOOK_MS = 50;

/** Webhooks of a stack's tenant for all types, created on demand. */
export class ListeningWebhooks {
  private readonly options: { admin: AdminOptions; pool: Pool; receiverUrl: string };
  private readonly ids: string[] = [];

  constructor(options: ListeningWebhooks['options']) {
    this.options = options;
  }

  /** Enables this number of webhooks and disables the others. */
  async listen(count: number): Promise<void> {
    const { receiverUrl: url } = this.options;
    const missing = Math.max(0, count - this.ids.length);
    if (missing > 0) {
      const made = Array.from({ length: missing }, () => ({ name: 'bench', url, events: [...WEBHOOK_EVENTS] }));
      const { created } = await this.ask('POST', made);
      this.ids.push(...created.map(({ id }) => id));
    }
    if (this.ids.length === 0) return;
    await this.ask(
      'PATCH',
      this.ids.map((id, index) => ({ id, enabled: index < count })),
    );
  }

  /** Resolves when no message is pending. */
  async delivered(): Promise<void> {
    const deadlineMs = Date.now() + DELIVERED_TIMEOUT_MS;
    const asked = 'SELECT EXISTS (SELECT FROM webhook_queue) AS waits';
    while ((await this.options.pool.query<{ waits: boolean }>(asked)).rows[0]?.waits === true) {
      if (Date.now() > deadlineMs) throw new Error('Not all messages were delivered.');
      await sleep(LOOK_MS);
    }
  }

  private async ask(method: 'POST' | 'PATCH', body: object[]): Promise<{ created: { id: string }[] }> {
    const request = { method, path: '/v1/webhooks', body };
    const { issues, ...answer } = await askAdmin<{ created: { id: string }[]; issues: unknown[] }>(
      this.options.admin,
      request,
    );
    if (issues.length > 0) throw new Error(`Webhooks: ${JSON.stringify(issues)}`);
    return answer;
  }
}
