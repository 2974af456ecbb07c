import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { GUARD_NAMES, GUARDS, type GuardName } from '../api/guards.ts';
import type { AdminRead } from '../api/queries.ts';
import { useMayChange } from '../api/session.ts';
import { BulkBar, MOST_SELECTED, useSelection, type BulkAction } from '../ui/bulk.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { SelectInput, TextInput } from '../ui/fields.tsx';
import { Ago } from '../ui/ago.tsx';
import { number } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Code, Empty, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { Options } from '../ui/options.tsx';
import { UserLink } from '../ui/user-link.tsx';

type Kept = AdminRead<'/v1/quarantine'>['events'][number];

const COLUMNS: readonly Column<Kept>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ userId }) => <UserLink id={userId} />,
  },
  { id: 'metric', header: 'Metric', cell: ({ metricKey }) => <Code>{metricKey ?? 'deleted'}</Code> },
  { id: 'value', header: 'Value', align: 'right', cell: ({ value }) => number(value) },
  { id: 'guard', header: 'Guard', cell: ({ guard }) => GUARDS[guard] },
  { id: 'at', header: 'Sent', cell: ({ at }) => <Ago at={at} /> },
];

const DECISIONS: Column<Kept> = { id: 'actions', header: 'Decision', cell: (kept) => <Decide kept={kept} /> };

/** Releases an event, or drops it. */
function Decide({ kept: { id, userId, metricKey, value } }: { kept: Kept }) {
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
      <ConfirmedButton
        change={release}
        aria-label={`Release the event of ${userId}`}
        title="Release the event?"
        action="Release"
        about={`Adds ${number(value)} to the total of ${metricKey ?? 'the metric'} of ${userId}, with everything that follows from it.`}
      >
        Release
      </ConfirmedButton>
      <ConfirmedButton
        look="danger"
        change={drop}
        aria-label={`Drop the event of ${userId}`}
        title="Drop the event?"
        action="Drop"
        about={`The value ${number(value)} of ${userId} is never applied. This cannot be undone.`}
      >
        Drop
      </ConfirmedButton>
    </span>
  );
}

const ids = (some: readonly Kept[]): string[] => some.map(({ id }) => id);
const messages = ({ issues }: { issues: readonly { message: string }[] }): string[] =>
  issues.map(({ message }) => message);

const ACTIONS: readonly BulkAction<Kept>[] = [
  {
    label: 'Release',
    size: 100,
    about: (events) => `Applies ${events}, oldest first, with everything that follows.`,
    run: async (some) => messages(await answer(admin.POST('/v1/quarantine/release', { body: { ids: ids(some) } }))),
    done: (events) => `Applied: ${events}.`,
  },
  {
    label: 'Drop',
    danger: true,
    size: 100,
    about: (events) => `Drops ${events} without applying anything. This cannot be undone.`,
    run: async (some) => messages(await answer(admin.POST('/v1/quarantine/drop', { body: { ids: ids(some) } }))),
    done: (events) => `Dropped: ${events}.`,
  },
];

const PAGE = 100;

export function Quarantine() {
  const mayChange = useMayChange();
  const [userId, setUserId] = useState('');
  const [guard, setGuard] = useState<GuardName | ''>('');
  const selection = useSelection<Kept>(({ id }) => id);
  const read = async (cursor: string, limit: number): Promise<Kept[]> => {
    const query = {
      limit,
      ...(cursor !== '' && { cursor }),
      ...(userId !== '' && { userId }),
      ...(guard !== '' && { guard }),
    };
    return (await answer(admin.GET('/v1/quarantine', { params: { query } }))).events;
  };
  const readAll = async (most: number): Promise<Kept[]> => {
    const found: Kept[] = [];
    while (found.length < most) {
      const page = await read(found.at(-1)?.id ?? '', PAGE);
      found.push(...page);
      if (page.length < PAGE) break;
    }
    return found.slice(0, MOST_SELECTED);
  };
  return (
    <Screen title="Quarantine" about="Events that a metric’s guard held back, newest first. Release or drop each one.">
      <div className="flex flex-wrap gap-3">
        <TextInput
          className="max-w-48"
          aria-label="User"
          placeholder="User ID"
          value={userId}
          onChange={({ target }) => setUserId(target.value)}
        />
        <SelectInput
          className="max-w-60"
          aria-label="Guard"
          value={guard}
          onChange={({ target }) => setGuard(target.value as GuardName | '')}
        >
          <option value="">All guards</option>
          <Options of={GUARD_NAMES.map((name) => [name, GUARDS[name]])} />
        </SelectInput>
      </div>
      <PagedTable
        above={<BulkBar noun="event" selection={selection} actions={ACTIONS} readAll={readAll} />}
        tall
        label="Quarantine"
        columns={[...selection.columns, ...COLUMNS, ...(mayChange ? [DECISIONS] : [])]}
        rowId={({ id }) => id}
        queryKey={['quarantine', userId, guard]}
        read={read}
        first={'' as string}
        next={(_, last) => last.id}
        empty={
          userId === '' && guard === '' ? (
            <Empty
              title="No events in quarantine"
              curl={`curl ${location.origin}/v1/quarantine -H "X-API-KEY: $LAUREL_KEY"`}
            >
              To hold back implausible events, give a{' '}
              <Link to="/metrics" className="text-accent underline">
                metric
              </Link>{' '}
              a guard with the action “quarantine the event”. This command lists the events:
            </Empty>
          ) : (
            <Empty title="No events match">Clear the filters to see all events in quarantine.</Empty>
          )
        }
      />
    </Screen>
  );
}
