import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Sheet } from '../ui/dialogs.tsx';
import { moment } from '../ui/format.ts';
import { Code, Facts, Failed, Shell, Tag } from '../ui/parts.tsx';

interface DeliveryProps {
  webhook: string;
  message: string | null;
  onClose: () => void;
}

/** One message: its payload, and every attempt to deliver it. */
export function Delivery({ webhook, message, onClose }: DeliveryProps) {
  return (
    <Sheet wide open={message !== null} onClose={onClose} title="Message">
      {message !== null && <Shown webhook={webhook} message={message} />}
    </Sheet>
  );
}

function Shown({ webhook, message }: { webhook: string; message: string }) {
  const mayChange = useMayChange();
  const path = { id: webhook, messageId: message };
  const delivery = useQuery({
    queryKey: ['webhooks', webhook, 'deliveries', 'one', message],
    queryFn: () => answer(admin.GET('/v1/webhooks/{id}/deliveries/{messageId}', { params: { path } })),
  });
  const resend = useChange({
    run: () => answer(admin.POST('/v1/webhooks/{id}/deliveries/{messageId}/resend', { params: { path } })),
    done: 'The message is queued again.',
  });
  if (delivery.isError) return <Failed error={delivery.error} />;
  if (delivery.isPending) return null;
  const { type, status, userId, at, nextTry, payload, attempts } = delivery.data;
  return (
    <div className="flex flex-col gap-3">
      <Facts
        of={[
          ['Type', type],
          ['ID', <Code key="id">{message}</Code>],
          ['User', userId],
          ['Happened', moment(at)],
          ['Status', nextTry === null ? status : `${status}, next attempt ${moment(nextTry)}`],
        ]}
      />
      <Shell>{JSON.stringify(payload, null, 2)}</Shell>
      <h3 className="font-semibold">Attempts</h3>
      {attempts.length === 0 && <p className="text-muted">No attempts yet.</p>}
      <ul className="flex flex-col gap-2">
        {attempts.map((attempt, index) => (
          <li key={index}>
            <Tag tone={attempt.error === null ? 'good' : 'bad'}>{attempt.status ?? 'no response'}</Tag>{' '}
            {moment(attempt.at)}
            <span className="text-muted">, {attempt.durationMs} ms</span>
            {attempt.error !== null && <span className="block text-danger">{attempt.error}</span>}
            {attempt.answer !== null && attempt.answer !== '' && <Shell>{attempt.answer}</Shell>}
          </li>
        ))}
      </ul>
      {mayChange && (
        <Button className="self-end" disabled={resend.isPending} onClick={() => resend.mutate()}>
          Resend
        </Button>
      )}
    </div>
  );
}
