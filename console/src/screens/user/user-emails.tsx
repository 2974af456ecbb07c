import { useInfiniteQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { ago, moment } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';
import { MessageStatus, Reason } from '../messages/status.tsx';
import { kindName } from '../messages/words.ts';
import { UserPreferences } from './user-preferences.tsx';

const PAGE = 5;

/** The e-mails and push notifications of a user, newest first, and what the user wants to get. */
export function UserEmails({ id, subscribed }: { id: string; subscribed: boolean }) {
  const pages = useInfiniteQuery({
    queryKey: ['user', id, 'emails'],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { userId: id, limit: PAGE, ...(pageParam !== null && { cursor: pageParam }) };
      return answer(admin.GET('/v1/messages', { params: { query } }));
    },
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const messages = pages.data?.pages.flatMap((page) => page.messages);
  return (
    <Panel title="Messages">
      <UserPreferences id={id} subscribed={subscribed} />
      {pages.isError && <Failed error={pages.error} />}
      {messages?.length === 0 && <p className="text-muted">No messages lately.</p>}
      <ul className="flex flex-col gap-1.5">
        {messages?.map((message) => (
          <li key={message.id}>
            {kindName(message.kind)} <MessageStatus of={message.status} />
            <span className="block text-xs break-words text-muted" title={moment(message.at)}>
              {message.medium === 'push' ? 'push' : 'e-mail'} · {ago(message.at)}
              {message.status !== 'sent' && (
                <>
                  {' · '}
                  <Reason of={message} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {pages.hasNextPage && (
        <Button look="bare" disabled={pages.isFetching} onClick={() => void pages.fetchNextPage()}>
          Older
        </Button>
      )}
    </Panel>
  );
}
