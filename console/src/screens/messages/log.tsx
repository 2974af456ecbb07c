import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { CursorTable } from '../../ui/cursor-table.tsx';
import { Labelled, SelectInput, TextInput } from '../../ui/fields.tsx';
import { Ago } from '../../ui/ago.tsx';
import { Empty } from '../../ui/parts.tsx';
import type { Column } from '../../ui/table-frame.tsx';
import { MessagesScreen } from './frame.tsx';
import { MessageStatus, Reason } from './status.tsx';
import { KIND_NAMES, kindName, STATUSES, type Kind, type Message } from './words.ts';
import { Options } from '../../ui/options.tsx';
import { UserLink } from '../../ui/user-link.tsx';

const PAGE = 100;
const READ_MS = 10_000;

type Suppressed = AdminRead<'/v1/messages/suppressed'>['addresses'][number];

const COLUMNS: readonly Column<Message>[] = [
  { id: 'user', header: 'User', cell: ({ userId }) => <UserLink id={userId} /> },
  { id: 'kind', header: 'Message', cell: ({ kind }) => kindName(kind) },
  { id: 'medium', header: 'By', cell: ({ medium }) => (medium === 'push' ? 'push' : 'e-mail') },
  { id: 'at', header: 'Fell due', cell: ({ at }) => <Ago at={at} /> },
  { id: 'status', header: 'Status', cell: ({ status }) => <MessageStatus of={status} /> },
  { id: 'reason', header: 'Why', cell: (message) => <Reason of={message} />, wraps: true },
];

/** The log of e-mails and push notifications, and the addresses that get no e-mails. */
export const MessageLog = () => (
  <MessagesScreen tab="Log">
    <Log />
    <h2 className="mt-2 text-base font-semibold">Suppressed addresses</h2>
    <p className="-mt-3 max-w-prose text-muted">
      A mail server refused these for good. They get no further e-mails, until you allow them again.
    </p>
    <SuppressedAddresses />
  </MessagesScreen>
);

function Log() {
  const [userId, setUserId] = useState('');
  const [kind, setKind] = useState<Kind | ''>('');
  const [status, setStatus] = useState('');
  const filters = {
    ...(userId !== '' && { userId }),
    ...(kind !== '' && { kind }),
    ...(status !== '' && { status: status as Message['status'] }),
  };
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <div className="grid grid-cols-2 gap-3 md:flex">
        <Labelled label="User">
          <TextInput placeholder="User ID" value={userId} onChange={({ target }) => setUserId(target.value.trim())} />
        </Labelled>
        <Labelled label="Message">
          <SelectInput value={kind} onChange={({ target }) => setKind(target.value as Kind | '')}>
            <option value="">All kinds</option>
            <Options of={KIND_NAMES.map((one) => [one, kindName(one)])} />
          </SelectInput>
        </Labelled>
        <Labelled label="Status">
          <SelectInput value={status} onChange={({ target }) => setStatus(target.value)}>
            <option value="">All statuses</option>
            <Options of={Object.entries(STATUSES).map(([one, { text }]) => [one, text])} />
          </SelectInput>
        </Labelled>
      </div>
      <CursorTable
        key={JSON.stringify(filters)}
        label="Messages"
        columns={COLUMNS}
        rowId={({ id }) => id}
        queryKey={['messages', 'log', filters]}
        refetchMs={READ_MS}
        read={async (cursor) => {
          const query = { limit: PAGE, ...(cursor !== null && { cursor }), ...filters };
          const { messages, nextCursor } = await answer(admin.GET('/v1/messages', { params: { query } }));
          return { rows: messages, nextCursor };
        }}
        empty={
          <Empty title={isFiltered ? 'No messages match' : 'No messages yet'}>
            {isFiltered
              ? 'Clear the filters to see all messages. The log is kept for 30 days, unless your operator chose otherwise.'
              : 'A message appears here when it falls due: for example at 20:00, to a user whose streak would end.'}
          </Empty>
        }
      />
    </>
  );
}

const SUPPRESSED: readonly Column<Suppressed>[] = [
  { id: 'address', header: 'Address', cell: ({ address }) => <span className="font-medium">{address}</span> },
  { id: 'user', header: 'User', cell: ({ userId }) => <UserLink id={userId} /> },
  { id: 'at', header: 'Refused', cell: ({ at }) => <Ago at={at} /> },
  { id: 'reason', header: 'Why', cell: ({ reason }) => reason, wraps: true },
];
const ALLOW: Column<Suppressed> = {
  id: 'allow',
  header: 'Actions',
  unseen: true,
  align: 'right',
  cell: ({ address }) => <Allow address={address} />,
};

function SuppressedAddresses() {
  const mayChange = useMayChange();
  return (
    <CursorTable
      label="Suppressed addresses"
      columns={mayChange ? [...SUPPRESSED, ALLOW] : SUPPRESSED}
      rowId={({ address }) => address}
      queryKey={['messages', 'suppressed']}
      read={async (cursor) => {
        const query = { limit: PAGE, ...(cursor !== null && { cursor }) };
        const { addresses, nextCursor } = await answer(admin.GET('/v1/messages/suppressed', { params: { query } }));
        return { rows: addresses, nextCursor };
      }}
      empty={<Empty title="No suppressed addresses" />}
    />
  );
}

function Allow({ address }: { address: string }) {
  const allow = useChange({
    run: () => answer(admin.DELETE('/v1/messages/suppressed/{address}', { params: { path: { address } } })),
    done: 'The address gets e-mails again.',
  });
  return (
    <ConfirmedButton
      change={allow}
      aria-label={`Allow again: ${address}`}
      title={`Allow ${address} again?`}
      action="Allow again"
      about="The next e-mail to it is sent. Do this only if the address exists now: providers count refused e-mails against you."
    >
      Allow again
    </ConfirmedButton>
  );
}
