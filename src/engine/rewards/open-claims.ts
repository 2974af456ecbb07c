import type { Redis } from 'ioredis';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import {
  CLAIM_STATE,
  type ClaimRow,
  type ClaimsAside,
  firstOpenClaimMs,
  noteReported,
  openClaims,
} from '../../postgres/rewards.ts';
import { readOrganisation } from '../../postgres/organisation.ts';
import { packedUsers } from '../../redis/parts.ts';
import type { Publisher } from '../notifications/due/publisher.ts';
import { rewardChanged, type UserJson, userJson } from '../notifications/payloads.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces, tenantPiece } from '../schedule/pieces.ts';
import { claimAnswer } from './claim-reads.ts';
import type { Claims } from './claims.ts';

type OpenClaim = ClaimRow & { version: number };

const AT_ONCE = 200;

/** By state. */
const TYPES = {
  [CLAIM_STATE.claimed]: 'reward.claimed',
  [CLAIM_STATE.fulfilled]: 'reward.fulfilled',
  [CLAIM_STATE.cancelled]: 'reward.cancelled',
} as const;
type ReportedState = keyof typeof TYPES;

/**
 * Finishes claims (decision 45): pays or releases reservations whose request ended, makes refunds that are owed, and creates the
 * notifications about each change. Every step is idempotent.
 */
export function createOpenClaims(
  redis: Redis,
  claims: Claims,
  publisher: Publisher,
  onFailed?: OnPieceFailed,
): ScheduledWork {
  const name = 'claims of rewards';
  const pieces: Pieces = new Pieces({ kind: name, onFailed });
  const reports: Pieces = new Pieces({ kind: name, onFailed });

  function due(upToMs: number): Promise<number | null> {
    return firstOpenClaimMs(publisher.pool, upToMs, waiting());
  }

  function upcoming(untilMs: number): Promise<number | null> {
    return due(untilMs);
  }

  async function perform(_dueMs: number, ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const { pool } = publisher;
    const open = await openClaims(pool, upToMs, waiting(), AT_ONCE);
    for (const claim of open) {
      if (ending.aborted) return;
      if (claim.state === CLAIM_STATE.reserved || claim.refundDue)
        await pieces.attempt(pieceOf(claim), ending, () => settle(claim));
    }
    const changed = open.filter(({ state, reported }) => state !== CLAIM_STATE.reserved && reported !== state);
    await reportEach(changed, ending, upToMs);
  }

  function waiting(): ClaimsAside {
    return { ids: pieces.aside.map(({ key }) => key), tenantNos: reports.aside.map(({ key }) => Number(key)) };
  }

  async function settle(claim: OpenClaim): Promise<void> {
    const compiled = await publisher.catalog(claim.tenantNo, claim.version);
    if (claim.refundDue) return claims.refund(compiled, claim);
    await claims.pay(compiled, claim).catch((error: unknown) => {
      // The spending was refused, so that the reservation is released.
      if (!(error instanceof AppError) || error.status >= 500)
        throw new Error('The claim could not be paid.', { cause: error });
    });
  }

  /** Reports the changes of each tenant. Where nobody listens, they count as reported. */
  async function reportEach(changed: readonly OpenClaim[], ending: AbortSignal, nowMs: number): Promise<void> {
    if (changed.length === 0) return;
    const wanting = new Set((await publisher.wanting(Object.values(TYPES))).map(({ tenantNo }) => tenantNo));
    const unheard = changed.filter(({ tenantNo }) => !wanting.has(tenantNo));
    if (unheard.length > 0) await noteReported(publisher.pool, unheard);
    for (const tenantNo of wanting) {
      const its = changed.filter((claim) => claim.tenantNo === tenantNo);
      if (ending.aborted || its.length === 0) continue;
      await reports.attempt(tenantPiece(tenantNo), ending, () => report(its, nowMs));
    }
  }

  /** Reports each state since the last report, with the users' present states. All claims are of one tenant. */
  async function report(changed: readonly OpenClaim[], nowMs: number): Promise<void> {
    const { tenantNo, version } = changed[0]!;
    const compiled = await publisher.catalog(tenantNo, version);
    const packed = await packedUsers(
      redis,
      tenantNo,
      changed.map(({ userId }) => userId),
    );
    const { controlShare } = await readOrganisation(publisher.pool);
    const named = await withDeleted(
      publisher.pool,
      compiled,
      changed.flatMap(({ rewardNo, systemNo }) => [rewardNo, systemNo]),
    );
    const notifications = changed.flatMap((claim, index) => {
      const { userId } = claim;
      const state = packed[index];
      // Deleted meanwhile.
      if (!state) return [];
      const user = userJson(compiled, { userId, state: decodeUser(state), controlShare });
      return notificationsOf(named, claim, user).filter(({ type, about }) =>
        publisher.wants(compiled, userId)(type, about),
      );
    });
    await publisher.publish(compiled, nowMs, async (client) => {
      const noted = await noteReported(client, changed);
      const fresh = changed.filter(({ id }) => noted.has(id)).map(({ id }) => id);
      return fresh.length === 0 ? null : notifications.filter(({ source }) => fresh.includes(source));
    });
  }

  return {
    name,
    get aside(): string[] {
      return [...pieces.aside, ...reports.aside].map(({ name }) => name);
    },
    due,
    upcoming,
    perform,
  };
}

function notificationsOf(named: CompiledCatalog, claim: OpenClaim, user: UserJson): Notification[] {
  const { tenantNo, userId } = claim;
  const pointsSystemId = named.pointsSystemsByNo.get(claim.systemNo)?.id;
  const about = pointsSystemId === undefined ? {} : { pointsSystemId };
  return reportedStates(claim).map((state) => {
    const asOf = {
      ...claim,
      state,
      ...(state === CLAIM_STATE.claimed && { fulfilledMs: null, cancelledMs: null, reason: null }),
    };
    const type = TYPES[state];
    const payload = rewardChanged(type, user, claimAnswer(named, asOf));
    return { type, tenantNo, userId, atMs: timeOf(claim, state), source: claim.id, about, payload };
  });
}

/** A fulfilled or cancelled claim was claimed before. */
const reportedStates = ({ state, reported }: ClaimRow): ReportedState[] => [
  ...(reported < CLAIM_STATE.claimed ? [CLAIM_STATE.claimed] : []),
  ...(state > CLAIM_STATE.claimed ? [state as ReportedState] : []),
];

const timeOf = ({ claimedMs, fulfilledMs, cancelledMs }: ClaimRow, state: ReportedState): number =>
  ({ [CLAIM_STATE.claimed]: claimedMs!, [CLAIM_STATE.fulfilled]: fulfilledMs!, [CLAIM_STATE.cancelled]: cancelledMs! })[
    state
  ];

const pieceOf = ({ id, tenantNo }: ClaimRow): Piece => ({
  key: id,
  name: `claim ${id} of tenant ${tenantNo}`,
  detail: { tenantNo, claim: id },
});
