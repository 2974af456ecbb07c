/** Points of a trigger in a segment of time, see `boundsOf`. */
export interface TriggerPoints {
  triggerNo: number;
  segment: number;
  points: number;
}

/** Sums of points by trigger and segment. */
export class AwardTally {
  private readonly byTrigger = new Map<number, Map<number, number>>();

  add({ triggerNo, segment, points }: TriggerPoints): void {
    let sums = this.byTrigger.get(triggerNo);
    if (sums === undefined) this.byTrigger.set(triggerNo, (sums = new Map()));
    sums.set(segment, (sums.get(segment) ?? 0) + points);
  }

  /** The sums that are not 0. */
  *sums(): Generator<TriggerPoints> {
    for (const [triggerNo, sums] of this.byTrigger)
      for (const [segment, points] of sums) if (points !== 0) yield { triggerNo, segment, points };
  }
}
