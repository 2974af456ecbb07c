import { useQuery } from '@tanstack/react-query';
import { Flame, Snowflake } from 'lucide-react';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin, application } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { dayAfter, calendarDays, periods, today } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';
import { StreakCalendar } from '../../ui/streak-calendar.tsx';
import { DayField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';

/** A year of days; incomplete weeks and months are omitted. */
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
  const mayChange = useMayChange();
  const [pausing, setPausing] = useState(false);
  return (
    <Panel
      title="Streak"
      actions={
        <>
          <ConfirmedButton
            look="bare"
            change={freeze}
            title="Give a freeze?"
            action="Give"
            about="The user gets one freeze, up to the maximum. It is used for the next missed period."
          >
            Give a freeze
          </ConfirmedButton>
          {mayChange && (
            <Button look="bare" onClick={() => setPausing(true)}>
              Pause
            </Button>
          )}
          <ConfirmedButton
            look="bare"
            change={restore}
            title="Restore the streak?"
            action="Restore"
            about="The lost streak continues, as if the missed periods had been met."
          >
            Restore
          </ConfirmedButton>
        </>
      }
    >
      {streak.isError && <Failed error={streak.error} />}
      {streak.data && (
        <div className="flex flex-col gap-3">
          <p className="flex flex-wrap items-baseline gap-x-5 gap-y-1">
            <span className="inline-flex items-center gap-1.5 text-lg font-semibold">
              <Flame size={18} className={streak.data.length > 0 ? 'text-accent' : 'text-muted'} aria-hidden />
              {periods(streak.data.length, streak.data.frequency)}
            </span>
            {streak.data.freezes !== undefined && (
              <span className="inline-flex items-center gap-1 text-muted">
                <Snowflake size={13} aria-hidden /> {streak.data.freezes} of {streak.data.maxFreezes} freezes
              </span>
            )}
            {streak.data.started !== null && (
              <span className="text-muted">since {calendarDays(streak.data.started)}</span>
            )}
            {streak.data.expires !== null && (
              <span className="text-muted">ends unless extended by {calendarDays(streak.data.expires)}</span>
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
  if (pauses.length === 0) return null;
  return (
    <ul className="text-muted">
      {pauses.map((pause) => (
        <li key={pause.id}>
          Paused: {calendarDays(pause.start, pause.end)} <RemovePause id={pause.id} />
        </li>
      ))}
    </ul>
  );
}

function RemovePause({ id }: { id: string }) {
  const remove = useChange({
    run: () => one(admin.DELETE('/v1/streaks/pauses', { params: { query: { ids: [id] } } })),
    done: 'The pause is removed.',
  });
  return (
    <ConfirmedButton
      look="bare"
      change={remove}
      title="Remove the pause?"
      action="Remove"
      about="Its days count again: without activity, the streak is lost."
    >
      Remove
    </ConfirmedButton>
  );
}

const PauseSheet = ({ id, open, onClose }: { id: string; open: boolean; onClose: () => void }) => (
  <Sheet open={open} onClose={onClose} title="Pause the streak">
    <PauseForm id={id} onClose={onClose} />
  </Sheet>
);

function PauseForm({ id, onClose }: { id: string; onClose: () => void }) {
  const [initial] = useState(() => ({ start: dayAfter(today(), 1), end: dayAfter(today(), 7) }));
  const [{ start, end }, setDays] = useState(initial);
  const pause = useChange({
    run: () => one(admin.POST('/v1/streaks/pauses', { body: { pauses: [{ userId: id, start, end }] } })),
    done: 'The pause is set.',
    quiet: true,
  });
  return (
    <Form
      change={pause}
      submit="Pause"
      isDirty={start !== initial.start || end !== initial.end}
      onSubmit={() => pause.mutate(undefined, { onSuccess: onClose })}
    >
      <p className="text-muted">On days of a pause, the streak needs no activity and is not lost.</p>
      <DayField label="First day" value={start} onChange={(day) => setDays({ start: day, end })} />
      <DayField label="Last day" value={end} onChange={(day) => setDays({ start, end: day })} />
    </Form>
  );
}
