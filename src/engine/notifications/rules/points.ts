import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { PointsAwardResponse, PointsTriggerResponse } from '../../../domain/points.ts';
import type { HappenedRecord, RecordedAward } from '../../../packed/record.ts';
import { AWARD, RECORD, RECORDED_POINTS } from '../../../packed/record-fields.ts';
import { uuidText } from '../../../domain/uuid.ts';
import { awardId } from '../../ids/event-id.ts';
import { boostResponse, triggerResponse } from '../../responses/points-response.ts';
import { levelChanged, pointsChanged } from '../payloads/points.ts';
import { onceACatalog } from '../payloads/once-a-catalog.ts';
import { isoTime } from '../payloads/payload.ts';
import type { Change, Reported } from './change.ts';

/** `points.changed` for each system that something was awarded in, and `points.level_changed` where the level is another. */
export function* pointsNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  // Awards are numbered through all systems of a record.
  let ordinal = 0;
  for (const points of record[RECORD.points] ?? []) {
    const no = points[RECORDED_POINTS.system];
    const before = points[RECORDED_POINTS.before];
    const total = points[RECORDED_POINTS.after];
    const awards = points[RECORDED_POINTS.awards];
    const first = ordinal + 1;
    ordinal += awards.length;
    const system = compiled.pointsSystemsByNo.get(no);
    // Of a reversal that could take nothing there are none.
    if (system === undefined || awards.length === 0) continue;
    const about = { pointsSystemId: system.id };
    if (wants('points.changed', about)) {
      const shown = awards.map((award, index) => awardResponse(compiled, record, award, first + index));
      const payload = pointsChanged(compiled, user.json(), { system, before, total, awards: shown });
      yield { type: 'points.changed', no, about, payload };
    }
    const previousLevel = compiled.levelOf(system.id, before);
    const newLevel = compiled.levelOf(system.id, total);
    if (previousLevel?.id !== newLevel?.id && wants('points.level_changed', about)) {
      const payload = levelChanged(user.json(), { system, total, previousLevel, newLevel });
      yield { type: 'points.level_changed', no, about, payload };
    }
  }
}

const triggers = onceACatalog<number, PointsTriggerResponse>();

/** An award as an event's answer shows it; without a trigger or boost that was deleted since. */
function awardResponse(
  compiled: CompiledCatalog,
  record: HappenedRecord,
  award: RecordedAward,
  ordinal: number,
): PointsAwardResponse {
  const trigger = compiled.triggersByNo.get(award[AWARD.trigger]);
  const boosts = award[AWARD.boosts].flatMap((no) => compiled.boostsByNo.get(no) ?? []);
  return {
    id: uuidText(awardId(record[RECORD.id], ordinal)),
    awarded: award[AWARD.awarded],
    date: isoTime(record[RECORD.atMs]),
    total: award[AWARD.after],
    ...(trigger !== undefined && { trigger: triggers(compiled, trigger.no, () => triggerResponse(compiled, trigger)) }),
    ...(boosts.length > 0 && { boosts: boosts.map((boost) => boostResponse(boost, record[RECORD.day])) }),
  };
}
