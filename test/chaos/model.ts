import { RULES } from './configuration.ts';
import { stepsIn } from './micros.ts';

export type Metric = 'cards' | 'minutes' | 'spend';
export type Achievement = 'goal' | 'long' | 'begun' | 'both' | 'tour';

/**
 * Computes with its own arithmetic what the rules of `configuration.ts` make of a user's events, in order. The order matters
 * only for `minutes` and `spend`: users with neither may be given sums.
 */
export class ModelUser {
  known = false;
  points = 0;
  readonly totals: Record<Metric, bigint> = { cards: 0n, minutes: 0n, spend: 0n };
  readonly achieved = new Set<Achievement>();
  private readonly peaks: Record<Metric, bigint> = { cards: 0n, minutes: 0n, spend: 0n };

  /** Applies an event. Returns `false` and changes nothing if it must be refused for lack of points. */
  event(metric: Metric, micros: bigint): boolean {
    const total = this.totals[metric] + micros;
    const peak = total > this.peaks[metric] ? total : this.peaks[metric];
    const crossed = (step: number): number => stepsIn(peak, step) - stepsIn(this.peaks[metric], step);
    const balance = this.known ? this.points : RULES.welcome;
    const price = metric === 'spend' ? crossed(1) * RULES.spendPoints : 0;
    if (price > balance) return false;

    this.seen();
    if (metric === 'cards') this.points += crossed(RULES.cardsStep) * RULES.cardsPoints;
    if (metric === 'minutes') this.points += crossed(RULES.minutesStep) * RULES.minutesPoints;
    this.points -= price;
    this.totals[metric] = total;
    this.peaks[metric] = peak;
    if (micros > 0n) this.achieved.add('begun');
    if (metric === 'minutes' && stepsIn(total > 0n ? total : 0n, RULES.minutesGoal) > 0) this.achieved.add('long');
    if (metric === 'cards' && stepsIn(total, RULES.cardsGoal) > 0 && !this.achieved.has('goal')) {
      this.achieved.add('goal');
      this.points += RULES.goalPoints;
    }
    if (this.achieved.has('goal') && this.achieved.has('begun')) this.achieved.add('both');
    return true;
  }

  /** Completes `tour`, by call. */
  tour(): void {
    this.seen();
    this.achieved.add('tour');
  }

  private seen(): void {
    if (!this.known) this.points += RULES.welcome;
    this.known = true;
  }
}
