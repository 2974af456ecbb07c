import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { useMayChange } from '../api/session.ts';
import { isoOf } from '../resource/field-input.tsx';
import { Button } from '../ui/button.tsx';
import { Sheet } from '../ui/dialogs.tsx';
import { Labelled, SelectInput, TextInput } from '../ui/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Ago } from '../ui/ago.tsx';
import { number } from '../ui/format.ts';
import { Panel } from '../ui/parts.tsx';

const LIVE_MS = 1_000;
const SHOWN = 5;

/** Sends messages of the log again, and shows the progress of earlier resends. */
export function Resend({ id, types }: { id: string; types: readonly string[] }) {
  const mayChange = useMayChange();
  const [asked, setAsked] = useState(false);
  const resends = useQuery({
    queryKey: ['webhooks', id, 'resends'],
    queryFn: () => answer(admin.GET('/v1/webhooks/{id}/resends', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.some(({ finished }) => finished === null) ? LIVE_MS : false),
  });
  const latest = resends.data?.slice(0, SHOWN) ?? [];
  if (!mayChange && latest.length === 0) return null;
  return (
    <Panel
      title="Resends"
      actions={mayChange && <Button onClick={() => setAsked(true)}>Resend failed messages …</Button>}
    >
      {latest.length === 0 && <p className="text-muted">No messages were sent again yet.</p>}
      <ul className="flex flex-col gap-2">
        {latest.map(({ id: resend, status, resent, total, requested, finished }) => (
          <li key={resend} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="min-w-0 grow">
              Messages that {status === 'failed' ? 'failed' : 'were delivered'}: {number(resent)}
              {total !== null && ` of ${number(total)}`} queued
            </span>
            {finished === null && (
              <progress
                aria-label="Progress of the resend"
                className="h-2 w-24 accent-accent"
                max={Math.max(1, total ?? 1)}
                {...(total !== null && { value: resent })}
              />
            )}
            <Ago at={requested} className="text-muted" />
          </li>
        ))}
      </ul>
      <Sheet open={asked} onClose={() => setAsked(false)} title="Resend messages">
        <ResendForm id={id} types={types} onClose={() => setAsked(false)} />
      </Sheet>
    </Panel>
  );
}

function ResendForm({ id, types, onClose }: { id: string; types: readonly string[]; onClose: () => void }) {
  const [status, setStatus] = useState<'failed' | 'delivered'>('failed');
  const [type, setType] = useState('');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const resend = useChange({
    run: () =>
      answer(
        admin.POST('/v1/webhooks/{id}/resend', {
          params: { path: { id } },
          body: {
            status,
            ...(type !== '' && { types: [type as never] }),
            ...(from !== '' && { from: isoOf(from) }),
            ...(to !== '' && { to: isoOf(to) }),
          },
        }),
      ),
    done: 'The messages are queued as the webhook takes them.',
    quiet: true,
  });
  return (
    <Form
      change={resend}
      submit="Resend"
      isDirty={type !== '' || from !== '' || to !== ''}
      onSubmit={() => resend.mutate(undefined, { onSuccess: onClose })}
    >
      <Labelled label="Messages that">
        <SelectInput value={status} onChange={({ target }) => setStatus(target.value as 'failed' | 'delivered')}>
          <option value="failed">failed</option>
          <option value="delivered">were delivered</option>
        </SelectInput>
      </Labelled>
      <Labelled label="Type">
        <SelectInput value={type} onChange={({ target }) => setType(target.value)}>
          <option value="">All types</option>
          {types.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </SelectInput>
      </Labelled>
      <Labelled label="From" hint="When the message was created. Empty: from the oldest in the log.">
        <TextInput type="datetime-local" value={from} onChange={({ target }) => setFrom(target.value)} />
      </Labelled>
      <Labelled label="Before" hint="Empty: up to now.">
        <TextInput type="datetime-local" value={to} onChange={({ target }) => setTo(target.value)} />
      </Labelled>
    </Form>
  );
}
