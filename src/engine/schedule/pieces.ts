/** Pieces of due work: done one after another, and retried after failures. */
import { createHash } from 'node:crypto';
import { delayMs, WORK_BACKOFF } from '../../pacing/backoff.ts';
import { inTime } from '../../pacing/time-limit.ts';
import { isUnavailable } from '../unavailable.ts';

interface AttemptsOptions {
  onFailed: (error: unknown) => void;
  /** A call that takes longer counts as failed (ms). */
  patienceMs: number;
}

/** The health of something that is retried: set aside after a failure, twice as long each time. */
export class Attempts {
  private readonly options: AttemptsOptions;
  private failures = 0;
  private retryAtMs = -Infinity;
  private hanging = false;

  constructor(options: AttemptsOptions) {
    this.options = options;
  }

  get aside(): boolean {
    return this.hanging || performance.now() < this.retryAtMs;
  }

  /** How long ago its last pause ended (ms); negative while it is set aside. */
  get idleMs(): number {
    return this.hanging ? -Infinity : performance.now() - this.retryAtMs;
  }

  succeeded(): void {
    this.failures = 0;
  }

  /** Makes a call. Returns `undefined` if it failed or took too long; its signal is then aborted. */
  async make<T>(ending: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<{ value: T } | undefined> {
    const tooLong = new AbortController();
    const called = call(AbortSignal.any([ending, tooLong.signal]));
    const { patienceMs } = this.options;
    try {
      const first = await inTime(
        called.then((value) => ({ value })),
        patienceMs,
        'late' as const,
      );
      if (first !== 'late') return first;
      this.hanging = true;
      const release = (): void => void (this.hanging = false);
      called.then(release, release);
      tooLong.abort();
      this.failed(new Error(`no answer in ${patienceMs / 1000} s`));
    } catch (error) {
      // A failure because the process ends is not reported.
      if (!ending.aborted) this.failed(error);
    }
    return undefined;
  }

  private failed(error: unknown): void {
    this.failures += 1;
    this.retryAtMs = performance.now() + delayMs(WORK_BACKOFF, this.failures);
    this.options.onFailed(error);
  }
}

/** A part of a kind of work that may fail independently: of a board, a tenant or a zone. */
export interface Piece {
  /** Unique within the kind. */
  key: string;
  /** For operators: `leaderboard 'weekly' of tenant 3`. */
  name: string;
  /** Additional log fields. */
  detail: Record<string, unknown>;
}

/** The piece of one user. Logs contain no user IDs: the start of the ID's SHA-256 stands for it. */
export function userPiece(tenantNo: number, userId: string, more: Record<string, unknown> = {}): Piece {
  const user = createHash('sha256').update(userId).digest('hex').slice(0, 12);
  return {
    key: `${tenantNo}:${user}`,
    name: `user ${user} of tenant ${tenantNo}`,
    detail: { tenantNo, user, ...more },
  };
}

export const tenantPiece = (tenantNo: number): Piece => ({
  key: String(tenantNo),
  name: `tenant ${tenantNo}`,
  detail: { tenantNo },
});

interface PieceFailure {
  kind: string;
  piece: Piece;
  error: unknown;
}

export type OnPieceFailed = (failure: PieceFailure) => void;

interface PiecesOptions {
  kind: string;
  onFailed?: OnPieceFailed | undefined;
  patienceMs?: number | undefined;
}

const PATIENCE_MS = 30_000;
/** A piece that was not tried for this long is gone or healthy. */
const FORGOTTEN_MS = 600_000;

/** The failed pieces of a kind of work, each set aside for 0.25 s to 30 s. Rethrows errors of an unavailable database. */
export class Pieces {
  private readonly options: PiecesOptions;
  private readonly failed = new Map<string, { piece: Piece; attempts: Attempts }>();

  constructor(options: PiecesOptions) {
    this.options = options;
  }

  isAside(key: string): boolean {
    return this.failed.get(key)?.attempts.aside === true;
  }

  get kind(): string {
    return this.options.kind;
  }

  get aside(): Piece[] {
    return [...this.failed.values()].filter(({ attempts }) => attempts.aside).map(({ piece }) => piece);
  }

  /** The tenants whose piece (`tenantPiece`) is set aside. */
  get tenantNos(): number[] {
    return this.aside.map(({ key }) => Number(key)).filter(Number.isInteger);
  }

  /** Does the pieces of some items, one after another, until `ending` aborts. Skips pieces that are set aside. */
  async attemptEach<T>(
    items: Iterable<T>,
    pieceOf: (item: T) => Piece,
    ending: AbortSignal,
    call: (item: T, signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    for (const item of items) {
      if (ending.aborted) return;
      const piece = pieceOf(item);
      if (!this.isAside(piece.key)) await this.attempt(piece, ending, (signal) => call(item, signal));
    }
  }

  /** Does a piece of work; `undefined` if it failed or took too long. Rejects if Redis or Postgres is unavailable. */
  async attempt<T>(
    piece: Piece,
    ending: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ value: T } | undefined> {
    const { kind, onFailed, patienceMs = PATIENCE_MS } = this.options;
    const attempts =
      this.failed.get(piece.key)?.attempts ??
      new Attempts({ onFailed: (error) => onFailed?.({ kind, piece, error }), patienceMs });
    let outage: Error | undefined;
    const outcome = await attempts.make(ending, async (signal) => {
      try {
        return { value: await call(signal) };
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        outage = error as Error;
        return null;
      }
    });
    if (outage !== undefined) throw outage;
    if (outcome?.value) this.failed.delete(piece.key);
    else if (!ending.aborted) this.setAside(piece, attempts);
    return outcome?.value ?? undefined;
  }

  private setAside(piece: Piece, attempts: Attempts): void {
    for (const [key, other] of this.failed) if (other.attempts.idleMs > FORGOTTEN_MS) this.failed.delete(key);
    this.failed.set(piece.key, { piece, attempts });
  }
}
