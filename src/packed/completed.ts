import { RECORD, RECORDED_QUEST } from './record-fields.ts';
import type { HappenedRecord, RecordedQuest } from './record.ts';

/** A completion in a record. `quest`: of a repeating achievement, its period; `null` for others. */
export interface CompletedInRecord {
  achievementNo: number;
  quest: RecordedQuest | null;
}

/** The completions of a record, in order. */
export function completedIn({
  [RECORD.completed]: completed = [],
  [RECORD.quests]: quests = [],
}: HappenedRecord): CompletedInRecord[] {
  if (quests.length === 0) return completed.map((achievementNo) => ({ achievementNo, quest: null }));
  const left = quests.filter((quest) => quest[RECORDED_QUEST.completed] === 1);
  return completed.map((achievementNo) => {
    const place = left.findIndex((quest) => quest[RECORDED_QUEST.achievement] === achievementNo);
    return { achievementNo, quest: place === -1 ? null : left.splice(place, 1)[0]! };
  });
}
