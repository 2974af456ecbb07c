import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { application } from '../api/client.ts';
import { attributesQuery, metricsQuery } from '../api/queries.ts';
import { isoOf } from '../resource/field-input.tsx';
import { Sheet } from '../ui/dialogs.tsx';
import { Labelled, SelectInput, TextInput } from '../ui/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Shell } from '../ui/parts.tsx';
import { AttributeValueInput } from '../ui/suggestions.tsx';
import { Options } from '../ui/options.tsx';

interface Props {
  /** The event's user; `null` to enter one. */
  user: string | null;
  /** Key of the preselected metric. */
  metric?: string;
  onClose: () => void;
}

/** Sends an event and shows its effects. */
export const SendEvent = ({ open, ...props }: Props & { open: boolean }) => (
  <Sheet open={open} onClose={props.onClose} title="Send an event">
    <EventForm {...props} />
  </Sheet>
);

function EventForm({ user, metric }: Props) {
  const metrics = useQuery(metricsQuery).data ?? [];
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'event') ?? [];
  const [chosen, setChosen] = useState<string | null>(metric ?? null);
  const [userId, setUserId] = useState(user ?? '');
  const [value, setValue] = useState('1');
  const [own, setOwn] = useState<Readonly<Record<string, string>>>({});
  const [happened, setHappened] = useState('');
  const key = chosen ?? metrics[0]?.key ?? '';
  const filled = Object.fromEntries(Object.entries(own).filter(([, text]) => text !== ''));
  const send = useChange({
    run: () =>
      answer(
        application.POST('/v1/metrics/{key}/event', {
          params: { path: { key } },
          body: {
            user: { id: userId },
            value: Number(value),
            ...(Object.keys(filled).length > 0 && { attributes: filled }),
            ...(happened !== '' && { occurredAt: isoOf(happened) }),
          },
        }),
      ),
    quiet: true,
  });
  return (
    <Form
      change={send}
      submit="Send"
      isDirty={!send.isSuccess && (Object.keys(filled).length > 0 || happened !== '')}
      incomplete={key === ''}
      onSubmit={() => send.mutate()}
    >
      {user === null && (
        <Labelled label="User ID" hint="Your own ID of the user. An unknown user is created.">
          <TextInput required maxLength={255} value={userId} onChange={({ target }) => setUserId(target.value)} />
        </Labelled>
      )}
      <Labelled label="Metric" hint={metrics.length === 0 ? 'Create a metric first.' : undefined}>
        <SelectInput required value={key} onChange={({ target }) => setChosen(target.value)}>
          <Options of={metrics.map((one) => [one.key, one.name])} />
        </SelectInput>
      </Labelled>
      <Labelled label="Value" hint="Added to the user’s total. A negative value is subtracted.">
        <TextInput type="number" step="any" required value={value} onChange={({ target }) => setValue(target.value)} />
      </Labelled>
      {attributes.map(({ id, key: attribute, name }) => (
        <Labelled key={attribute} label={name}>
          <AttributeValueInput
            attributeId={id}
            value={own[attribute] ?? ''}
            onChange={({ target }) => setOwn({ ...own, [attribute]: target.value })}
          />
        </Labelled>
      ))}
      <Labelled label="Happened at" hint="Empty: now. The metrics’ settings limit how far back an event may be.">
        <TextInput type="datetime-local" value={happened} onChange={({ target }) => setHappened(target.value)} />
      </Labelled>
      {send.data && (
        <section aria-label="Result" className="flex flex-col gap-1">
          <h3 className="font-semibold">The event changed</h3>
          <Shell>{JSON.stringify(send.data, null, 2)}</Shell>
        </section>
      )}
    </Form>
  );
}
