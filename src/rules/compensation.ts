import { SUM_BOUND } from '../domain/decimal.ts';
import { COMPENSATED } from '../packed/record-fields.ts';
import type { Compensated, Shortfall } from '../packed/record.ts';
import type { PointsMove } from './points.ts';
import type { User } from './user.ts';

/** How points were moved. */
export interface Compensation {
  moves: PointsMove[];
  /** What could not be taken yet. */
  shortfalls: Shortfall[];
  /** By ID of the award, the change of the total. */
  movedBy: ReadonlyMap<string, number>;
}

/**
 * Takes awarded points back, or gives them back if the points are negative. A total never falls below 0 nor rises above the maximum.
 * What cannot be taken is owed (positive) and offset against what later reversals give. What cannot be given is owed too (negative) and
 * offset against what they take. The result therefore does not depend on the order in which events are reversed. `held`: IDs of awards
 * that stay unchanged. `limits`: maximum by number of the system; `null` to give and take exactly what `awards` says.
 */
export function compensate(
  user: User,
  awards: readonly Compensated[],
  { held, limits }: { held: readonly string[]; limits: Readonly<Record<number, number>> | null },
): Compensation {
  const stays = new Set(held);
  const moves = new Map<number, PointsMove>();
  const movedBy = new Map<string, number>();
  // Giving first leaves less to owe.
  for (const gives of [true, false])
    for (const award of awards) {
      if (award[COMPENSATED.points] < 0 !== gives || stays.has(award[COMPENSATED.award])) continue;
      const no = award[COMPENSATED.system];
      let move = moves.get(no);
      if (move === undefined) {
        const total = user.points.get(no) ?? 0;
        moves.set(no, (move = { system: { no }, before: total, total, awards: [] }));
      }
      const moved = moveTotal(user, move, Math.abs(award[COMPENSATED.points]), { gives, limits });
      if (moved === 0) continue;
      const day = award[COMPENSATED.day];
      move.awards.push({
        trigger: award[COMPENSATED.trigger],
        points: moved,
        after: move.total,
        boosts: [],
        ...(day !== undefined && { day }),
      });
      movedBy.set(award[COMPENSATED.award], moved);
    }
  return { moves: [...moves.values()], shortfalls: settleDebts(user, [...moves.values()]), movedBy };
}

/** Gives or takes points, and notes what could not be. Debts in the other direction are offset first. Returns the change. */
function moveTotal(
  { owed }: User,
  move: PointsMove,
  points: number,
  { gives, limits }: { gives: boolean; limits: Readonly<Record<number, number>> | null },
): number {
  const { no } = move.system;
  const owes = owed.get(no) ?? 0;
  const opposite = gives ? owes : limits === null ? 0 : -owes;
  const off = Math.min(points, Math.max(opposite, 0));
  const remaining = points - off;
  if (gives) {
    const most = limits === null ? Infinity : (limits[no] ?? SUM_BOUND - 1);
    const given = Math.min(remaining, Math.max(most - move.total, 0));
    owed.set(no, owes - off - (remaining - given));
    move.total += given;
    return given;
  }
  const taken = Math.min(remaining, move.total);
  owed.set(no, owes + off + (remaining - taken));
  move.total -= taken;
  return 0 - taken;
}

/** Stores the totals. Returns what is still owed to the systems. */
function settleDebts({ points, owed }: User, moves: readonly PointsMove[]): Shortfall[] {
  const shortfalls: Shortfall[] = [];
  for (const { system, total } of moves) {
    if (total > 0) points.set(system.no, total);
    else points.delete(system.no);
    const owes = owed.get(system.no)!;
    if (owes === 0) owed.delete(system.no);
    else if (owes > 0) shortfalls.push([system.no, owes]);
  }
  return shortfalls;
}
