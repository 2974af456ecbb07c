import type { Pool } from 'pg';
import type { PointsSystem } from '../../src/domain/catalog.ts';
import type { BalanceChange } from '../../src/domain/points.ts';
import { createSpendings, type Spendings } from '../../src/engine/points/spendings.ts';
import { AppError } from '../../src/errors.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';
import type { Step } from './random-history.ts';
import type { Said } from './seen.ts';
import { stored } from './stored.ts';
import { outstanding, pointsOf, type ModelUser, type Spending, wasClosed } from './user.ts';

type SpendingStep = Extract<Step, { do: 'spend' | 'hold' | 'close' }>;

const BY = { who: 'test' };
const NOTHING: Said = { engine: null, model: null };

/** Spending of points, on both sides. */
export class SpendingSideBySide {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly spendings: Spendings;
  private readonly made: { id: string; userId: string; key: string }[] = [];
  private keys = 0;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, clock, scripts, ids } = engine;
    this.engine = engine;
    this.model = model;
    this.spendings = createSpendings({
      redis,
      pool,
      scripts,
      ids,
      clock,
      idempotencyKeysPerDay: 0,
      recordAudit: async () => undefined,
      persisted: (tenantNo) => stored(redis, pool, tenantNo),
    });
  }

  /** Takes a step on both sides. Each says the answer, or the status of the refusal. */
  async take(step: SpendingStep): Promise<Said> {
    return step.do === 'close' ? this.close(step) : this.open(step);
  }

  private async open(step: Extract<SpendingStep, { do: 'spend' | 'hold' }>): Promise<Said> {
    const systems = this.model.catalog.pointsSystems;
    const system = systems[step.system % Math.max(1, systems.length)];
    if (system === undefined) return NOTHING;
    const key = (step.do === 'spend' ? step.key : null) ?? `own ${(this.keys += 1)}`;
    const { user: userId } = step;
    const amount = this.amountOf(step.amount, { userId, systemId: system.id });
    const keyed = { idempotencyKey: key, by: BY };
    const compiled = this.engine.compiled();
    const purse = { userId, key: system.key };
    const request = { amount, ...(step.do === 'hold' && { expiresIn: step.seconds }) };
    const opened = this.spendings.open(compiled, purse, request, keyed);
    const engine = await opened.catch(refusal);
    const expiresMs = step.do === 'hold' ? this.model.nowMs + step.seconds * 1000 : null;
    const id = typeof engine === 'object' ? engine.id : '';
    if (id !== '' && !this.made.some((one) => one.id === id)) this.made.push({ id, userId, key: system.key });
    return { engine: outcomeOf(engine), model: this.modelOpen(system, userId, { id, amount, key, expiresMs }) };
  }

  private amountOf(
    drawn: { points: number } | { percent: number },
    { userId, systemId }: { userId: string; systemId: string },
  ): number {
    if ('points' in drawn) return drawn.points;
    const user = this.model.users.get(userId);
    const balance = user === undefined ? 0 : this.balance(user, systemId);
    return Math.max(1, Math.ceil((balance * drawn.percent) / 100));
  }

  private modelOpen(
    { id: systemId }: PointsSystem,
    userId: string,
    asked: Pick<Spending, 'id' | 'amount' | 'key' | 'expiresMs'>,
  ): Outcome | number {
    const user = this.model.users.get(userId);
    if (user === undefined) return 404;
    const before = user.spendings.find((spending) => spending.systemId === systemId && spending.key === asked.key);
    if (before !== undefined) return before.amount === asked.amount ? [before.id, before.balance] : 409;
    const balance = this.balance(user, systemId) - asked.amount;
    if (balance < 0) return 409;
    user.spendings.push({ ...asked, systemId, balance, closed: [] });
    return [asked.id, balance];
  }

  private async close({ how, nth }: Extract<SpendingStep, { do: 'close' }>): Promise<Said> {
    const one = this.made[nth % Math.max(1, this.made.length)];
    if (one === undefined) return NOTHING;
    const { id, ...purse } = one;
    const compiled = this.engine.compiled();
    const closing =
      how === 'refund'
        ? this.spendings.refund(compiled, purse, { id, by: BY })
        : this.spendings.close(compiled, purse, { how, id, by: BY });
    return { engine: outcomeOf(await closing.catch(refusal)), model: this.modelClose(one, how) };
  }

  private modelClose({ id, userId }: { id: string; userId: string }, how: Closing): Outcome | number {
    const user = this.model.users.get(userId)!;
    const spending = user.spendings.find((each) => each.id === id)!;
    const { closed, expiresMs, systemId } = spending;
    const earlier = closed.find((closing) => closing.how === how);
    if (earlier !== undefined) return [id, earlier.balance];
    const isSpent = expiresMs === null || wasClosed(spending, 'capture');
    const isOpen = expiresMs !== null && closed.length === 0 && expiresMs > this.model.nowMs;
    if (how === 'refund' ? !isSpent : !isOpen) return 409;
    const closing = { how, balance: 0 };
    closed.push(closing);
    closing.balance = this.balance(user, systemId);
    return [id, closing.balance];
  }

  private balance(user: ModelUser, systemId: string): number {
    return pointsOf(user, systemId) - outstanding(user, systemId, this.model.nowMs);
  }
}

type Closing = Spending['closed'][number]['how'];

/** The spending or hold that an answer is about, and the balance in it. */
type Outcome = [id: string, balance: number];

const outcomeOf = (answer: BalanceChange | number): Outcome | number =>
  typeof answer === 'number' ? answer : [answer.spendingId ?? answer.id, answer.balance];

function refusal(error: unknown): number {
  if (error instanceof AppError) return error.status;
  throw error;
}
