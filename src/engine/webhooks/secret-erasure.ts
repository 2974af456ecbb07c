import type { Pool } from 'pg';
import { eraseEndedSecrets, nextSecretEndMs } from '../../postgres/webhooks/secrets.ts';
import type { DueWork } from '../schedule/due-work.ts';

/** Erases the previous secret of a webhook when the 24 hours in which it signs too are over. */
export class SecretErasure implements DueWork {
  readonly name = 'previous secrets of webhooks';
  readonly seesItself = true;
  private readonly pool: Pool;

  constructor({ pool }: { pool: Pool }) {
    this.pool = pool;
  }

  async due(upToMs: number): Promise<number | null> {
    const endMs = await nextSecretEndMs(this.pool);
    return endMs !== null && endMs <= upToMs ? endMs : null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(_dueMs: number, _ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    await eraseEndedSecrets(this.pool, upToMs);
  }
}
