import { useQuery } from '@tanstack/react-query';
import { Flame, Snowflake } from 'lucide-react';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin, application } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { dayAfter, today } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';
import { StreakCalendar } from '../../ui/streak-calendar.tsx';
import { DayField } from '../../ui/fields.tsx';

/** A year of days; of weeks and months many more than there is room for. */
const PERIODS = 364;

export function UserStreak({ id }: { id: string }) {
  const streak = useQuery({
    queryKey: ['user', id, 'streak'],
    queryFn: () =>
      answer(
        application.GET('/v1/users/{id}/streak', {
          params: { path: { id }, query: { historyPeriods: PERIODS } },
        }),
      ),
  });
  const freeze = useChange({
    run: () => one(admin.POST('/v1/streaks/freezes', { body: { freezes: [{ userId: id }] } })),
    done: 'A freeze was given.',
  });
  const restore = useChange({
    run: () => one(admin.POST('/v1/streaks/restore', { body: { users: [{ id }] } })),
    done: 'The streak was restored.',
  });
  const [pausing, setPausing] = useState(false);
  return (
    <Panel
      title="Streak"
      actions={
        <>
          <Button look="bare" disabled={freeze.isPending} onClick={() => freeze.mutate()}>
            Give a freeze
          </Button>
          <Button look="bare" onClick={() => setPausing(true)}>
            Pause
          </Button>
          <Button look="bare" disabled={restore.isPending} onClick={() => restore.mutate()}>
            Restore
          </Button>
        </>
      }
    >
      {streak.isError && <Failed error={streak.error} />}
      {streak.data && (
        <div className="flex flex-col gap-3">
          <p className="flex flex-wrap items-baseline gap-x-5 gap-y-1">
            <span className="inline-flex items-center gap-1.5 text-lg font-semibold">
              <Flame size={18} className={streak.data.length > 0 ? 'text-accent' : 'text-muted'} aria-hidden />
              {streak.data.length} {streak.data.frequency}
            </span>
            {streak.data.freezes !== undefined && (
              <span className="inline-flex items-center gap-1 text-muted">
                <Snowflake size={13} aria-hidden /> {streak.data.freezes} of {streak.data.maxFreezes} freezes
              </span>
            )}
            {streak.data.started !== null && <span className="text-muted">since {streak.data.started}</span>}
            {streak.data.expires !== null && (
              <span className="text-muted">to be extended by {streak.data.expires}</span>
            )}
          </p>
          <StreakCalendar frequency={streak.data.frequency} history={streak.data.streakHistory} />
          <Pauses pauses={streak.data.pauses} />
        </div>
      )}
      <PauseSheet key={String(pausing)} id={id} open={pausing} onClose={() => setPausing(false)} />
    </Panel>
  );
}

function Pauses({ pauses }: { pauses: readonly { id: string; start: string; end: string }[] }) {
  const end = useChange({
    run: (pause: string) => one(admin.DELETE('/v1/streaks/pauses', { params: { query: { ids: [pause] } } })),
    done: 'The pause was removed.',
  });
  if (pauses.length === 0) return null;
  return (
    <ul className="text-muted">
      {pauses.map((pause) => (
        <li key={pause.id}>
          Paused {pause.start} to {pause.end}{' '}
          <button type="button" className="text-danger underline" onClick={() => end.mutate(pause.id)}>
            Remove
          </button>
        </li>
      ))}
    </ul>
  );
}

function PauseSheet({ id, open, onClose }: { id: string; open: boolean; onClose: () => void }) {
  const [start, setStart] = useState(() => dayAfter(today(), 1));
  const [end, setEnd] = useState(() => dayAfter(today(), 7));
  const pause = useChange({
    run: () => one(admin.POST('/v1/streaks/pauses', { body: { pauses: [{ userId: id, start, end }] } })),
    done: 'The streak will pause.',
    quiet: true,
  });
  return (
    <Sheet open={open} onClose={onClose} title="Pause the streak">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          pause.mutate(undefined, { onSuccess: onClose });
        }}
      >
        <p className="text-muted">Days of a pause need nothing and end nothing.</p>
        <DayField label="First day" value={start} onChange={setStart} />
        <DayField label="Last day" value={end} onChange={setEnd} />
        {pause.isError && <Failed error={pause.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={pause.isPending}>
            Pause
          </Button>
        </div>
      </form>
    </Sheet>
  );
}
