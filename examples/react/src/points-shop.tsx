import { usePoints } from 'laurel-client/react';
import { useEffect, useState } from 'react';
import { call, CallError } from './call.ts';
import { Panel } from './panel.tsx';

interface Item {
  id: string;
  name: string;
  price: number;
  isOwned: boolean;
}

/** What the user can buy with points. The app's server knows the prices, and spends the points. */
export function PointsShop({ pointsSystem }: { pointsSystem: string }) {
  const points = usePoints(pointsSystem);
  const [items, setItems] = useState<Item[]>([]);
  const [buying, setBuying] = useState<string | null>(null);
  const [message, setMessage] = useState('');
  useEffect(() => {
    call<Item[]>('GET', '/api/shop').then(setItems, () => setMessage('The shop is closed at the moment.'));
  }, []);

  const buy = async ({ id, name }: Item) => {
    setBuying(id);
    setMessage('');
    try {
      setItems(await call<Item[]>('POST', '/api/shop', { id }));
      setMessage(`${name} is yours.`);
    } catch (error) {
      const isTooDear = error instanceof CallError && error.code === 'insufficient_balance';
      setMessage(isTooDear ? `You have too few points for ${name}.` : `${name} was not bought. Please try again.`);
    }
    // The live stream reports it, too. This is sooner, and works without it.
    await points.refresh();
    setBuying(null);
  };

  return (
    <Panel title="Shop" loaded={points}>
      {({ name: unit, total, balance = total }) => (
        <>
          <p className="balance">
            <strong className="changed" key={balance}>
              {balance.toLocaleString()}
            </strong>{' '}
            {unit} to spend
          </p>
          <ul className="items">
            {items.map((item) => {
              const lacking = item.price - balance;
              const isOff = lacking > 0 || buying !== null;
              return (
                <li key={item.id}>
                  <span id={`item-${item.id}`}>
                    {item.name}
                    <small>
                      {item.price} {unit}
                      {!item.isOwned && lacking > 0 && `, ${lacking} more to earn`}
                    </small>
                  </span>
                  {item.isOwned ? (
                    <span className="owned">✓ Yours</span>
                  ) : (
                    // Not `disabled`, which would take the focus away.
                    <button
                      type="button"
                      aria-disabled={isOff}
                      aria-describedby={`item-${item.id}`}
                      onClick={() => void (isOff || buy(item))}
                    >
                      {buying === item.id ? 'Buying …' : 'Buy'}
                    </button>
                  )}
                </li>
              );
            })}
          </ul>
          <p role="status">{message}</p>
        </>
      )}
    </Panel>
  );
}
