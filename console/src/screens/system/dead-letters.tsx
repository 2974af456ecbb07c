import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Sheet } from '../../ui/dialogs.tsx';
import { ago, moment, number } from '../../ui/format.ts';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Code, Empty, Facts, Failed, Panel, Shell, Waiting } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';

type Letter = AdminRead<'/v1/dead-letters'>[number];

/** Entries that could not be stored: what is wrong with each, to be stored again or dropped. `count`: how many there are. */
export function DeadLetters({ count }: { count: number | undefined }) {
  const [opened, setOpened] = useState<string | null>(null);
  const columns: Column<Letter>[] = [
    {
      id: 'reason',
      header: 'Why it could not be stored',
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
    { id: 'parts', header: 'Parts not stored', align: 'right', cell: ({ parts }) => number(parts.length), spare: true },
    {
      id: 'created',
      header: 'Since',
      cell: ({ created }) => <span title={moment(created)}>{ago(created)}</span>,
    },
    { id: 'tries', header: 'Tries', align: 'right', cell: ({ tries }) => number(tries), spare: true },
  ];
  return (
    <Panel title="Dead letters">
      <PagedTable
        label="Dead letters"
        columns={columns}
        rowId={({ id }) => id}
        // Read again when their number changes, which is looked at all the time.
        queryKey={['dead-letters', count ?? null]}
        read={(skip: number, limit) =>
          answer(admin.GET('/v1/dead-letters', { params: { query: { skip, limit, status: 'waiting' } } }))
        }
        first={0}
        next={(skip, _, size) => skip + size}
        empty={
          <Empty
            title="None: everything that was taken could be stored"
            curl={`curl ${location.origin}/v1/dead-letters -H "X-API-KEY: $ADMIN_KEY"`}
          >
            An entry that cannot be stored is set aside here, and does not hold up the others. By HTTP:
          </Empty>
        }
      />
      <Sheet wide open={opened !== null} onClose={() => setOpened(null)} title="Dead letter">
        {opened !== null && <Shown id={opened} onGone={() => setOpened(null)} />}
      </Sheet>
    </Panel>
  );
}

/** Stores an entry again, or drops it. What is still in the way is said in the API's words. */
function Actions({ id, position, shard, onGone }: Pick<Letter, 'id' | 'position' | 'shard'> & { onGone: () => void }) {
  const [asked, setAsked] = useState(false);
  const retry = useChange({
    run: async () => {
      const { status, reason } = await answer(admin.POST('/v1/dead-letters/{id}/retry', { params: { path: { id } } }));
      if (status !== 'stored') throw new Error(`It could not be stored: ${reason}`);
    },
    done: 'It is stored.',
  });
  const drop = useChange({
    run: () => one(admin.DELETE('/v1/dead-letters', { params: { query: { ids: [id] } } })),
    done: 'The entry is dropped.',
  });
  return (
    <div className="flex justify-end gap-2">
      <Button look="danger" onClick={() => setAsked(true)}>
        Drop
      </Button>
      <Button look="primary" disabled={retry.isPending} onClick={() => retry.mutate(undefined, { onSuccess: onGone })}>
        {retry.isPending ? 'Storing …' : 'Store again'}
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title="Drop the entry?"
        action="Drop"
        busy={drop.isPending}
        onConfirm={() => drop.mutate(undefined, { onSuccess: onGone, onSettled: () => setAsked(false) })}
      >
        What is not stored of it is gone for good: <Code>{position}</Code> of shard {shard}.
      </Confirm>
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
          ['Tenant', tenantNo === null ? 'not known' : String(tenantNo)],
          ['Set aside', moment(created)],
          ['Tries', number(tries)],
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
        <p className="text-muted">It is not there any more.</p>
      ) : (
        <Shell>{JSON.stringify({ records: entry.records, states: entry.states }, null, 2)}</Shell>
      )}
      <Actions id={id} position={position} shard={shard} onGone={onGone} />
    </div>
  );
}
