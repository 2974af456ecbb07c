import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { GUARDS } from '../api/guards.ts';
import type { AdminRead } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialogs.tsx';
import { TextInput } from '../ui/fields.tsx';
import { ago, moment, number } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Code, Empty, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

type Kept = AdminRead<'/v1/quarantine'>['events'][number];

const COLUMNS: readonly Column<Kept>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ userId }) => (
      <Link to="/users/$id" params={{ id: userId }} className="font-medium text-accent hover:underline">
        {userId}
      </Link>
    ),
  },
  { id: 'metric', header: 'Metric', cell: ({ metricKey }) => <Code>{metricKey ?? 'deleted'}</Code> },
  { id: 'value', header: 'Value', align: 'right', cell: ({ value }) => number(value) },
  { id: 'guard', header: 'Kept by', cell: ({ guard }) => GUARDS[guard], spare: true },
  { id: 'at', header: 'Sent', cell: ({ at }) => <span title={moment(at)}>{ago(at)}</span>, spare: true },
  { id: 'actions', header: 'Decide', cell: (kept) => <Decide kept={kept} /> },
];

/** Releases an event, or drops it. What refuses it is said in the API's words. */
function Decide({ kept: { id, userId, value } }: { kept: Kept }) {
  const [asked, setAsked] = useState(false);
  const path = { params: { path: { id } } };
  const release = useChange({
    run: () => answer(admin.POST('/v1/quarantine/{id}/release', path)),
    done: 'The event is applied.',
  });
  const drop = useChange({
    run: () => answer(admin.DELETE('/v1/quarantine/{id}', path)),
    done: 'The event is dropped.',
  });
  return (
    <span className="flex gap-2">
      <Button
        disabled={release.isPending}
        aria-label={`Release the event of ${userId}`}
        onClick={() => release.mutate()}
      >
        Release
      </Button>
      <Button look="danger" aria-label={`Drop the event of ${userId}`} onClick={() => setAsked(true)}>
        Drop
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title="Drop the event?"
        action="Drop"
        busy={drop.isPending}
        onConfirm={() => drop.mutate(undefined, { onSettled: () => setAsked(false) })}
      >
        The value {number(value)} of {userId} is never applied. This cannot be undone.
      </Confirm>
    </span>
  );
}

export function Quarantine() {
  const [userId, setUserId] = useState('');
  return (
    <Screen title="Quarantine" about="Events that guards of metrics keep from being applied, newest first.">
      <TextInput
        className="max-w-48"
        aria-label="User"
        placeholder="ID of a user"
        value={userId}
        onChange={({ target }) => setUserId(target.value)}
      />
      <PagedTable
        tall
        label="Quarantine"
        columns={COLUMNS}
        rowId={({ id }) => id}
        queryKey={['quarantine', userId]}
        read={async (cursor: string, limit) => {
          const query = { limit, ...(cursor !== '' && { cursor }), ...(userId !== '' && { userId }) };
          return (await answer(admin.GET('/v1/quarantine', { params: { query } }))).events;
        }}
        first=""
        next={(_, last) => last.id}
        empty={
          <Empty title="No event is kept" curl={`curl ${location.origin}/v1/quarantine -H "X-API-KEY: $ADMIN_KEY"`}>
            A metric’s guards can keep events beyond a limit, until they are released or dropped here. The same:
          </Empty>
        }
      />
    </Screen>
  );
}
