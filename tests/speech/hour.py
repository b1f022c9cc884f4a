"""One hour of speech in noise at 16 kHz, put together from recordings. The same seed gives the same samples.

Scenes of 20 to 60 seconds follow one another. Each has a background: a part of one noise recording at -60 to -25 dB of full scale
(RMS), or in one of ten scenes digital silence. In front of it stand turns of speech, one whole sentence or one to four single words, each at
-35 to -12 dB. Pauses of 0.05 to 6 seconds lie between turns, of 0.02 to 0.4 seconds between words. Sums beyond full scale are cut off.
"""

import random

RATE = 16000


def folders(data):
    """Sentences, words and noise of shared/data; empty where it is not there."""
    files = {
        name: sorted(p for p in data.glob(pattern) if p.suffix in (".flac", ".opus") and p.parent.name != "_silence_")
        for name, pattern in (("sentences", "negatives/**/*"), ("words", "gsc12/val/*/*"), ("noise", "noise/*"))
    }
    return files if all(files.values()) else None


def at_level(numpy, samples, decibels):
    level = numpy.sqrt(numpy.mean(samples**2)) + 1e-9
    return samples * (10 ** (decibels / 20) / level)


def background(numpy, dice, noise, length):
    if dice.random() < 0.1:
        return numpy.zeros(length)
    sound = dice.choice(noise)
    at = dice.randrange(len(sound))
    part = numpy.resize(numpy.roll(sound, -at)[:length], length)  # a shorter one is repeated
    return at_level(numpy, part, dice.uniform(-60, -25))


def turn(numpy, dice, sentences, words):
    if dice.random() < 0.6:
        return at_level(numpy, dice.choice(sentences), dice.uniform(-35, -12))
    parts = []
    for _ in range(dice.randint(1, 4)):
        parts += [dice.choice(words), numpy.zeros(int(RATE * dice.uniform(0.02, 0.4)))]
    return at_level(numpy, numpy.concatenate(parts), dice.uniform(-35, -12))


def make(files, seconds, seed):
    """16-bit samples, and the share of time in which a turn lasts."""
    import numpy
    import soundfile

    def read(path):
        samples, rate = soundfile.read(path, dtype="float64")
        assert rate == RATE, path
        return samples

    sounds = {name: [read(path) for path in paths] for name, paths in files.items()}
    dice, scenes, spoken, length = random.Random(seed), [], 0, 0
    while length < seconds * RATE:
        scene = background(numpy, dice, sounds["noise"], int(RATE * dice.uniform(20, 60)))
        at = 0
        while True:
            at += int(RATE * 0.05 * 120 ** dice.random())
            speech = turn(numpy, dice, sounds["sentences"], sounds["words"])
            if at + len(speech) > len(scene):
                break
            scene[at : at + len(speech)] += speech
            at, spoken = at + len(speech), spoken + len(speech)
        scenes.append(scene)
        length += len(scene)
    samples = numpy.clip(numpy.concatenate(scenes)[: seconds * RATE] * 32768, -32768, 32767)
    return samples.round().astype(numpy.int16), min(1, spoken / length)
