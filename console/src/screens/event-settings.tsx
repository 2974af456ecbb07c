import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { eventSettingsQuery } from '../api/queries.ts';
import { FieldsForm } from '../resource/editor.tsx';
import { useForm } from '../resource/use-form.ts';
import { Panel } from '../ui/parts.tsx';

/** Limits for late events. The attributes screen has the other setting, of sign-up dates. */
export function EventSettings() {
  const settings = useQuery(eventSettingsQuery);
  const fields = useForm('events').filter(({ name }) => name !== 'signUpDateWritableBy');
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Late events" className="max-w-3xl">
      <FieldsForm
        key={JSON.stringify(settings.data)}
        fields={fields}
        item={settings.data}
        save={(body) => answer(admin.PATCH('/v1/events/settings', { body }))}
        done="Saved."
      />
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
