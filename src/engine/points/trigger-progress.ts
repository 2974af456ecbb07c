import type { Pool } from 'pg';
import { noteProgress, type OpenTrigger, openTriggers } from '../../postgres/time-triggers.ts';
import { type Pieces, tenantPiece } from '../schedule/pieces.ts';
import { isUnavailable } from '../unavailable.ts';

export interface Open extends OpenTrigger {
  fromMs: number;
}

/** How far each `time` trigger is paid: the stored progress, and what was searched since. */
export class TriggerProgress {
  private readonly pool: Pool;
  private readonly pieces: Pieces;
  /** Progress beyond the stored one. It is valid while the stored progress is unchanged. */
  private readonly looked = new Map<string, { noted: number | null; nextMs: number }>();

  /** @param pieces tenants that are set aside are skipped, and a tenant whose progress cannot be stored is set aside */
  constructor(pool: Pool, pieces: Pieces) {
    this.pool = pool;
    this.pieces = pieces;
  }

  /** All triggers. `upToMs`: the clock's time, to detect a clock that went back. */
  async open(upToMs = Infinity): Promise<Open[]> {
    const all = (await openTriggers(this.pool)).filter(({ tenantNo }) => !this.pieces.isAside(String(tenantNo)));
    const open = all.map((trigger) => {
      const progress = this.looked.get(keyOf(trigger));
      const known = progress?.noted === trigger.nextMs ? progress.nextMs : (trigger.nextMs ?? 0);
      return { ...trigger, fromMs: Math.max(trigger.activatedMs + 1, known) };
    });
    // The clock went back. Users' states show which periods were paid, so that new users get theirs.
    const ahead = open.filter(({ fromMs, activatedMs }) => fromMs > upToMs + 1 && activatedMs <= upToMs);
    await this.advance(ahead, upToMs + 1, { noteAfterMs: 0, back: true });
    return open;
  }

  async advance(
    triggers: readonly Open[],
    nextMs: number,
    { noteAfterMs, back = false }: { noteAfterMs: number; back?: boolean },
  ): Promise<void> {
    const noted: { tenantNo: number; no: number; nextMs: number }[] = [];
    for (const trigger of triggers) {
      if (trigger.fromMs > nextMs && !back) continue;
      trigger.fromMs = nextMs;
      if (back || nextMs - (trigger.nextMs ?? trigger.activatedMs) >= noteAfterMs) {
        trigger.nextMs = nextMs;
        noted.push({ tenantNo: trigger.tenantNo, no: trigger.no, nextMs });
      }
      this.looked.set(keyOf(trigger), { noted: trigger.nextMs, nextMs });
    }
    await this.note(noted);
  }

  /** Stores progress in one statement or, if that fails, tenant by tenant. */
  private async note(noted: readonly { tenantNo: number; no: number; nextMs: number }[]): Promise<void> {
    const { pool } = this;
    try {
      await noteProgress(pool, noted);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      for (const tenantNo of new Set(noted.map((trigger) => trigger.tenantNo))) {
        const own = noted.filter((trigger) => trigger.tenantNo === tenantNo);
        await this.pieces.attempt(tenantPiece(tenantNo), NEVER, () => noteProgress(pool, own));
      }
    }
  }
}

const NEVER = new AbortController().signal;

const keyOf = ({ tenantNo, no }: OpenTrigger): string => `${tenantNo}:${no}`;
