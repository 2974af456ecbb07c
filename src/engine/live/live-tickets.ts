import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { LiveTicketRequest } from '../../domain/live.ts';
import { boardStatus } from '../../domain/runs.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import { visibleBoards } from '../find-configured.ts';
import type { LiveGrant } from './grants.ts';

/** Whoever asks for a ticket: what of a key decides what a stream may see. */
export interface TicketCaller {
  kind: 'admin' | 'application';
  prefix: string;
  userId: string | null;
  rateLimit: number | null;
  /** Where a session stands for the key: SHA-256 of its token. */
  session?: { readonly hash: Buffer };
}

/**
 * What a stream that is asked for may see. 422 for a board that there is not, or that is inactive; for events asked for with
 * an application key. That an application key names no other user is seen to before.
 */
export function grantFor(
  compiled: CompiledCatalog,
  { kind, prefix, userId, rateLimit, session }: TicketCaller,
  { request, nowMs }: { request: LiveTicketRequest; nowMs: number },
): LiveGrant {
  const utcDay = Math.floor(nowMs / DAY_MS);
  const named = (request.boards ?? []).map((name) => {
    const ofId = name.toLowerCase();
    const board = compiled.leaderboards.get(name) ?? compiled.catalog.leaderboards.find(({ id }) => id === ofId);
    if (board === undefined || boardStatus(board, utcDay) === null)
      throw new AppError('unprocessable', `boards: there is no leaderboard '${name}'.`, {
        hint: didYouMean(name, visibleBoards(compiled, utcDay)),
      });
    return board.id;
  });
  const boardIds = [...new Set(named)];
  const { types = null } = request;
  const [metricIds, pointsSystemIds, leaderboardIds] = [
    request.metricIds,
    request.pointsSystemIds,
    request.leaderboardIds,
  ].map(asStored) as [Ids, Ids, Ids];
  if (kind === 'application' && types?.includes('event') === true)
    throw new AppError('unprocessable', "types: 'event' is for admin keys.");
  return {
    tenantNo: compiled.catalog.tenantNo,
    prefix,
    ...(session && { signIn: session.hash.toString('base64url') }),
    kind,
    rateLimit,
    userId: kind === 'application' ? userId : (request.userId ?? null),
    boardIds: kind === 'application' ? boardIds : [],
    types,
    metricIds,
    // To an admin key, which sees all boards, naming some is a filter.
    leaderboardIds: kind === 'admin' && boardIds.length > 0 ? [...boardIds, ...(leaderboardIds ?? [])] : leaderboardIds,
    pointsSystemIds,
  };
}

type Ids = string[] | null;

/** IDs may be sent in capitals; null: none were sent. */
const asStored = (ids: readonly string[] | undefined): Ids => ids?.map((id) => id.toLowerCase()) ?? null;
