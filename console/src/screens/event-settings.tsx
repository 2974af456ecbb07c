import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { eventSettingsQuery, type AdminRead } from '../api/queries.ts';
import { Labelled, TextInput } from '../ui/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Panel } from '../ui/parts.tsx';

type Settings = AdminRead<'/v1/events/settings'>;

/** How late events may arrive. */
export function EventSettings() {
  const settings = useQuery(eventSettingsQuery);
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Late events" className="max-w-3xl">
      <LateEvents key={JSON.stringify(settings.data)} settings={settings.data} />
    </Panel>
  );
}

function LateEvents({ settings }: { settings: Settings }) {
  const [days, setDays] = useState(String(settings.lateEventDays));
  const [clientsMaySendLate, setClients] = useState(settings.clientsMaySendLate);
  const save = useChange({
    run: () =>
      answer(admin.PATCH('/v1/events/settings', { body: { lateEventDays: Number(days), clientsMaySendLate } })),
    done: 'Saved.',
    quiet: true,
  });
  return (
    <Form
      change={save}
      submit="Save"
      isDirty={days !== String(settings.lateEventDays) || clientsMaySendLate !== settings.clientsMaySendLate}
      onSubmit={() => save.mutate()}
    >
      <Labelled
        label="Accept late events for this many days"
        hint="A late event has its time in occurredAt and counts on that day: totals, streaks and open leaderboards change as if it had arrived then. With 0, only events of the last 24 hours are accepted."
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
    </Form>
  );
}
