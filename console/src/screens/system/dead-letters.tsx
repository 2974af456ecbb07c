import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Ago } from '../../ui/ago.tsx';
import { moment, number } from '../../ui/format.ts';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Code, Empty, Facts, Failed, Panel, Shell, Waiting } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';

type Letter = AdminRead<'/v1/dead-letters'>[number];

/** Entries that could not be stored, each with its error. `count`: how many there are. */
export function DeadLetters({ count }: { count: number | undefined }) {
  const [opened, setOpened] = useState<string | null>(null);
  const columns: Column<Letter>[] = [
    {
      id: 'reason',
      header: 'Error',
      cell: ({ id, reason }) => (
        <button
          type="button"
          className="max-w-full truncate font-medium text-accent hover:underline"
          title={reason}
          onClick={() => setOpened(id)}
        >
          {reason}
        </button>
      ),
    },
    { id: 'parts', header: 'Parts', align: 'right', cell: ({ parts }) => number(parts.length) },
    {
      id: 'created',
      header: 'Since',
      cell: ({ created }) => <Ago at={created} />,
    },
    { id: 'tries', header: 'Attempts', align: 'right', cell: ({ tries }) => number(tries) },
  ];
  return (
    <Panel title="Dead letters">
      <PagedTable
        label="Dead letters"
        columns={columns}
        rowId={({ id }) => id}
        // Read again when their number changes.
        queryKey={['dead-letters', count ?? null]}
        read={(skip: number, limit) =>
          answer(admin.GET('/v1/dead-letters', { params: { query: { skip, limit, status: 'waiting' } } }))
        }
        first={0}
        next={(skip, _, size) => skip + size}
        empty={
          <Empty title="No dead letters" curl={`curl ${location.origin}/v1/dead-letters -H "X-API-KEY: $LAUREL_KEY"`}>
            Everything could be stored. An entry that Postgres refuses would wait here, and not delay the others. This
            command lists them:
          </Empty>
        }
      />
      <Sheet wide open={opened !== null} onClose={() => setOpened(null)} title="Dead letter">
        {opened !== null && <Shown id={opened} onGone={() => setOpened(null)} />}
      </Sheet>
    </Panel>
  );
}

/** Stores an entry again, or drops it. */
function Actions({ id, position, shard, onGone }: Pick<Letter, 'id' | 'position' | 'shard'> & { onGone: () => void }) {
  const mayChange = useMayChange();
  const retry = useChange({
    run: async () => {
      const { status, reason } = await answer(admin.POST('/v1/dead-letters/{id}/retry', { params: { path: { id } } }));
      if (status !== 'stored') throw new Error(`The entry could not be stored: ${reason}`);
    },
    done: 'The entry is stored.',
  });
  const drop = useChange({
    run: async () => {
      await one(admin.DELETE('/v1/dead-letters', { params: { query: { ids: [id] } } }));
      // Before its data is read again, which would show that it does not exist.
      onGone();
    },
    done: 'The entry is dropped.',
  });
  if (!mayChange) return null;
  return (
    <div className="flex justify-end gap-2">
      <ConfirmedButton
        look="danger"
        change={drop}
        title="Drop the entry?"
        action="Drop"
        about={
          <>
            The parts that are not stored are lost for good: <Code>{position}</Code> of shard {shard}.
          </>
        }
      >
        Drop
      </ConfirmedButton>
      <Button look="primary" disabled={retry.isPending} onClick={() => retry.mutate(undefined, { onSuccess: onGone })}>
        {retry.isPending ? 'Storing …' : 'Store again'}
      </Button>
    </div>
  );
}

function Shown({ id, onGone }: { id: string; onGone: () => void }) {
  const letter = useQuery({
    queryKey: ['dead-letters', 'one', id],
    queryFn: () => answer(admin.GET('/v1/dead-letters/{id}', { params: { path: { id } } })),
  });
  if (letter.isError) return <Failed error={letter.error} />;
  if (letter.isPending) return <Waiting />;
  const { shard, position, tenantNo, created, tries, parts, entry } = letter.data;
  return (
    <div className="flex flex-col gap-3">
      <Facts
        of={[
          ['ID', <Code key="id">{id}</Code>],
          ['Outbox', `shard ${shard}, ${position}`],
          ['Tenant', tenantNo === null ? 'unknown' : String(tenantNo)],
          ['Set aside', moment(created)],
          ['Attempts', number(tries)],
        ]}
      />
      <h3 className="font-semibold">Not stored</h3>
      <ul className="list-disc pl-5">
        {parts.map(({ part, at, user, reason }) => (
          <li key={`${part} ${at}`}>
            {part} {at}
            {user !== undefined && (
              <>
                {' of '}
                <Code>{user}</Code>
              </>
            )}
            : {reason}
          </li>
        ))}
      </ul>
      <h3 className="font-semibold">The entry</h3>
      {entry === null ? (
        <p className="text-muted">The entry no longer exists.</p>
      ) : (
        <Shell>{JSON.stringify({ records: entry.records, states: entry.states }, null, 2)}</Shell>
      )}
      <Actions id={id} position={position} shard={shard} onGone={onGone} />
    </div>
  );
}
