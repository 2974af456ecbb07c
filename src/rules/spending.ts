import { HOLD } from '../packed/user-fields.ts';
import { balanceOf } from './points.ts';
import type { Refusal } from './refusal.ts';
import type { User } from './user.ts';

/*
 * Spending: how the balance in a points system changes while its total stays. A hold takes points from the balance until it is captured,
 * released or expires. An expired hold does not count; the next change of any balance removes it from the user.
 */

/** A movement of a user's balance in a points system (number). `of`: ID of the hold or spending (32 hex digits). */
export type BalanceMovement =
  /** `reward`: number of the reward that is claimed. */
  | { kind: 'spend'; system: number; amount: number; reward?: number }
  | { kind: 'expire'; system: number; amount: number }
  | { kind: 'hold'; system: number; amount: number; expiresInMs: number }
  | { kind: 'capture' | 'release'; system: number; of: string }
  /** `generation`: that of the user who spent. */
  | { kind: 'refund'; system: number; amount: number; of: string; generation: number | null };

/**
 * What a movement did to a balance. `expiresMs`: when a new hold expires; `null` for other movements. `holdEndsMs`: when a new hold, or
 * the hold that was captured or released, expires; `null` for other movements.
 */
export interface BalanceOutcome {
  amount: number;
  /** The balance after it. */
  balance: number;
  expiresMs: number | null;
  holdEndsMs: number | null;
}

interface Around {
  nowMs: number;
  /** ID of the movement (32 hex digits), which a new hold gets. */
  id: string;
}

/** Moves a user's balance. */
export function moveBalance(user: User, movement: BalanceMovement, around: Around): BalanceOutcome | Refusal {
  const { system } = movement;
  const { nowMs } = around;
  user.holds = user.holds.filter(({ expiresMs }) => expiresMs > nowMs);
  const moved = changeHolds(user, movement, around);
  if ('refusal' in moved) return moved;
  const { amount, spent, holdEndsMs = null } = moved;
  const spentAfter = (user.spent.get(system) ?? 0) + spent;
  // A former user with this ID spent them.
  if (spentAfter < 0) return NOT_HELD;
  user.spent.set(system, spentAfter);
  const expiresMs = movement.kind === 'hold' ? holdEndsMs : null;
  return { amount, balance: balanceOf(user, system, nowMs), expiresMs, holdEndsMs };
}

const NOT_HELD: Refusal = { refusal: 'notHeld' };

/** Checks a movement and changes the holds. `spent`: what it adds to the points spent. */
function changeHolds(
  user: User,
  movement: BalanceMovement,
  around: Around,
): { amount: number; spent: number; holdEndsMs?: number } | Refusal {
  switch (movement.kind) {
    case 'spend':
      return lackOf(user, movement, around) ?? { amount: movement.amount, spent: movement.amount };
    case 'hold':
      return lackOf(user, movement, around) ?? openHold(user, movement, around);
    case 'expire':
      return { amount: movement.amount, spent: movement.amount };
    case 'refund':
      return user.generation === movement.generation ? { amount: movement.amount, spent: -movement.amount } : NOT_HELD;
    case 'capture':
    case 'release': {
      const at = user.holds.findIndex(({ system, id }) => system === movement.system && id === movement.of);
      if (at === -1) return NOT_HELD;
      const { amount, expiresMs } = user.holds.splice(at, 1)[0]!;
      return { amount, spent: movement.kind === 'capture' ? amount : 0, holdEndsMs: expiresMs };
    }
  }
}

function lackOf(user: User, { system, amount }: { system: number; amount: number }, { nowMs }: Around): Refusal | null {
  const balance = balanceOf(user, system, nowMs);
  return amount > balance ? { refusal: 'insufficient', balance } : null;
}

function openHold(
  { holds }: User,
  { system, amount, expiresInMs }: BalanceMovement & { kind: 'hold' },
  { nowMs, id }: Around,
): { amount: number; spent: number; holdEndsMs: number } | Refusal {
  if (holds.filter((hold) => hold.system === system).length >= HOLD.most) return { refusal: 'manyHolds' };
  const expiresMs = nowMs + expiresInMs;
  holds.push({ system, id, amount, expiresMs });
  return { amount, spent: 0, holdEndsMs: expiresMs };
}
