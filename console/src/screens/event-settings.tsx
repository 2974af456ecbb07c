import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { eventSettingsQuery, type AdminRead } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Labelled, TextInput } from '../ui/fields.tsx';
import { Failed, Panel } from '../ui/parts.tsx';

type Settings = AdminRead<'/v1/events/settings'>;

/** How late events may come. */
export function EventSettings() {
  const settings = useQuery(eventSettingsQuery);
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Late events" className="max-w-3xl">
      <Form key={JSON.stringify(settings.data)} settings={settings.data} />
    </Panel>
  );
}

function Form({ settings }: { settings: Settings }) {
  const [days, setDays] = useState(String(settings.lateEventDays));
  const [clientsMaySendLate, setClients] = useState(settings.clientsMaySendLate);
  const save = useChange({
    run: () =>
      answer(admin.PATCH('/v1/events/settings', { body: { lateEventDays: Number(days), clientsMaySendLate } })),
    done: 'Saved.',
    quiet: true,
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Labelled
        label="Days that an event may come late"
        hint="With occurredAt an event says when it happened. It counts on that day: totals, streaks and open leaderboards become what they would be. The last 24 hours may always be sent."
      >
        <TextInput
          className="max-w-32"
          type="number"
          required
          min={0}
          max={400}
          value={days}
          onChange={({ target }) => setDays(target.value)}
        />
      </Labelled>
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={clientsMaySendLate} onChange={({ target }) => setClients(target.checked)} />
        <span className="font-medium">Application keys may send late events, up to 48 hours back</span>
      </label>
      {save.isError && <Failed error={save.error} />}
      <Button type="submit" className="self-start" disabled={save.isPending}>
        Save
      </Button>
    </form>
  );
}
