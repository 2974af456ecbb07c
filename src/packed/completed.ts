import { RECORD, RECORDED_QUEST } from './record-fields.ts';
import type { HappenedRecord, RecordedQuest } from './record.ts';

/** A completion in a record. `quest`: of a repeating achievement, its period; `null` for others. */
export interface CompletedInRecord {
  achievementNo: number;
  quest: RecordedQuest | null;
}

const NONE: readonly never[] = [];

/** The completions of a record, in order. */
export function completedIn(record: HappenedRecord): readonly CompletedInRecord[] {
  const completed = record[RECORD.completed];
  if (completed === undefined || completed.length === 0) return NONE;
  const fulfilled = (record[RECORD.quests] ?? NONE).filter((quest) => quest[RECORDED_QUEST.completed] === 1);
  return completed.map((achievementNo) => {
    const place = fulfilled.findIndex((quest) => quest[RECORDED_QUEST.achievement] === achievementNo);
    return { achievementNo, quest: place === -1 ? null : fulfilled.splice(place, 1)[0]! };
  });
}
