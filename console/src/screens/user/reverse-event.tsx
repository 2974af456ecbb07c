import { useQuery } from '@tanstack/react-query';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { TimelineEntry } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialogs.tsx';
import { calendarDays, number } from '../../ui/format.ts';
import { Failed, Waiting } from '../../ui/parts.tsx';

type Reversible = Extract<TimelineEntry, { kind: 'event' | 'reversal' }>;

const reversed = (id: string, body: { dryRun?: boolean; revokeAchievements: boolean }) =>
  answer(admin.POST('/v1/events/{id}/reverse', { params: { path: { id } }, body }));

/** Reverses an event, or its reversal, after a preview. */
export function ReverseEvent({ entry: { kind, id, metric } }: { entry: Reversible }) {
  const [asked, setAsked] = useState(false);
  const [revokeAchievements, setRevoke] = useState(false);
  const reverse = useChange({
    run: () => reversed(id, { revokeAchievements }),
    done: kind === 'event' ? 'The event is reversed.' : 'The event counts again.',
  });
  const mayChange = useMayChange();
  if (!mayChange) return null;
  const what = kind === 'event' ? 'Reverse the event' : 'Reverse the reversal';
  return (
    <>
      <Button
        look="bare"
        className="-my-1.5 h-6 px-1"
        aria-label={`${what} of ${metric.name}`}
        onClick={() => setAsked(true)}
      >
        <Undo2 size={13} aria-hidden />
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={`${what}?`}
        action="Reverse"
        busy={reverse.isPending}
        onConfirm={() => reverse.mutate(undefined, { onSettled: () => setAsked(false) })}
      >
        <WhatWouldChange id={id} revokeAchievements={revokeAchievements} />
        {kind === 'event' && (
          <label className="mt-2 flex items-center gap-2">
            <input type="checkbox" checked={revokeAchievements} onChange={({ target }) => setRevoke(target.checked)} />
            Also revoke achievements that it completed
          </label>
        )}
      </Confirm>
    </>
  );
}

const rankText = (rank: number | null): string => (rank === null ? 'no rank' : `rank ${number(rank)}`);

const scoreText = (value: number | null): string => (value === null ? 'no score' : number(value));

function WhatWouldChange({ id, revokeAchievements }: { id: string; revokeAchievements: boolean }) {
  const dry = useQuery({
    queryKey: ['reversal', id, revokeAchievements],
    queryFn: () => reversed(id, { dryRun: true, revokeAchievements }),
    gcTime: 0,
  });
  if (dry.isError) return <Failed error={dry.error} />;
  if (dry.isPending) return <Waiting />;
  const { total, streak, points, revokedAchievements, restoredAchievements, leaderboards, finalRuns } = dry.data;
  return (
    <ul className="list-disc pl-4">
      {total !== null && <li>The total becomes {number(total)}.</li>}
      {streak !== null && <li>The streak becomes {number(streak)}.</li>}
      {points.map(({ key, changed, shortfall, ...after }) => (
        <li key={key}>
          {key}: {number(changed)} points, to a total of {number(after.total)}
          {shortfall > 0 && `; ${number(shortfall)} cannot be taken`}.
        </li>
      ))}
      {revokedAchievements.length > 0 && <li>Revoked achievements: {revokedAchievements.join(', ')}.</li>}
      {restoredAchievements.length > 0 && <li>Restored achievements: {restoredAchievements.join(', ')}.</li>}
      {leaderboards.map(({ leaderboardKey, start, previousValue, value }) => (
        <li key={`${leaderboardKey} ${start}`}>
          On the leaderboard {leaderboardKey}, in the run of {calendarDays(start)}, {scoreText(previousValue)} becomes{' '}
          {scoreText(value)}.
        </li>
      ))}
      {finalRuns.map(({ leaderboardKey, start, rank, rankWithout, rewardsDiffer }) => (
        <li key={`${leaderboardKey} ${start}`}>
          The final run of {calendarDays(start)} on {leaderboardKey} keeps {rankText(rank)}; without the event:{' '}
          {rankText(rankWithout)}
          {rewardsDiffer && ', with other rewards'}.
        </li>
      ))}
    </ul>
  );
}
