"""Random numbers can't be compared one by one: shape, dtype, range and moments are."""

import onnxruntime as ort
import pytest
import torch
from tests.harness import LATEST, Function, case, check, export_checked, f32, feeds, operators

import onnxport
from onnxport.errors import LoweringError

OPSETS = (9, 13, 21, 22, LATEST)


def sample(function, *inputs, opset=LATEST, runs=1):
    """What the exported function gives at a size twice the example's."""
    names = [f"x{i}" for i in range(len(inputs))]
    axes = {name: {0: f"n{i}"} for i, name in enumerate(names)}
    proto = export_checked(Function(function).eval(), tuple(inputs), names, axes, opset)
    twice = [torch.cat([x, x]) for x in inputs]
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return [torch.from_numpy(session.run(None, feeds(names, twice))[0]) for _ in range(runs)]


X = torch.zeros(1000, 4)

# name: function of x, and mean, deviation, low, high of its result
UNIFORM = (0.5, 12**-0.5, 0, 1)
NORMAL = (0.0, 1.0, -9, 9)
DISTRIBUTIONS = {
    "rand": (lambda x: torch.rand(x.shape[0], 4), UNIFORM),
    "rand_like": (lambda x: torch.rand_like(x), UNIFORM),
    "rand_half": (lambda x: torch.rand(x.shape[0], 4, dtype=torch.float16), UNIFORM),
    "rand_double": (lambda x: torch.rand_like(x, dtype=torch.float64), UNIFORM),
    "randn": (lambda x: torch.randn(x.shape[0], 4), NORMAL),
    "randn_like": (lambda x: torch.randn_like(x.double()), NORMAL),
    "uniform_": (lambda x: x.clone().uniform_(2, 4), (3.0, 2 * 12**-0.5, 2, 4)),
    "normal_": (lambda x: x.clone().normal_(1, 2), (1.0, 2.0, -20, 20)),
    "normal": (lambda x: torch.normal(x + 1, x + 2), (1.0, 2.0, -20, 20)),
    "normal_mean": (lambda x: torch.normal(x + 3), (3.0, 1.0, -9, 12)),
    "exponential_": (lambda x: x.clone().exponential_(2), (0.5, 0.5, 0, 20)),
    "geometric_": (lambda x: x.clone().geometric_(0.4), (2.5, 1.936, 1, 60)),
    "log_normal_": (lambda x: x.clone().log_normal_(0, 0.5), (1.133, 0.604, 0, 30)),
    "cauchy_": (lambda x: x.clone().cauchy_(1, 2).sub(1).div(2).atan(), (0.0, 0.9069, -1.571, 1.571)),
    "random_": (lambda x: x.clone().random_(3, 7), (4.5, 1.118, 3, 6)),
    "random_to": (lambda x: x.long().random_(2), (0.5, 0.5, 0, 1)),
    "random_bool": (lambda x: x.bool().random_().float(), (0.5, 0.5, 0, 1)),
    "randint": (lambda x: torch.randint(3, 7, (x.shape[0], 4)), (4.5, 1.118, 3, 6)),
    "randint_high": (lambda x: torch.randint(2, (x.shape[0], 4), dtype=torch.int32), (0.5, 0.5, 0, 1)),
    "randint_like": (lambda x: torch.randint_like(x, 2), (0.5, 0.5, 0, 1)),
    "rand_passing_none": (lambda x: torch.rand(x.shape[0], 4, generator=None, dtype=torch.float64), UNIFORM),
    "randn_passing_none": (lambda x: torch.randn((x.shape[0], 4), generator=None), NORMAL),
    "randint_passing_none": (lambda x: torch.randint(3, 7, (x.shape[0], 4), generator=None), (4.5, 1.118, 3, 6)),
    "randint_high_passing_none": (
        lambda x: torch.randint(2, (x.shape[0], 4), generator=None, dtype=torch.int32),
        (0.5, 0.5, 0, 1),
    ),
    "bernoulli": (lambda x: torch.bernoulli(x + 0.25), (0.25, 0.433, 0, 1)),
    "bernoulli_p": (lambda x: torch.bernoulli(x, 0.25), (0.25, 0.433, 0, 1)),
    "bernoulli_": (lambda x: x.clone().bernoulli_(0.25), (0.25, 0.433, 0, 1)),
    "multinomial": (lambda x: torch.multinomial(x + torch.tensor([0.0, 1, 2, 1]), 6, True), (2.0, 0.7071, 1, 3)),
    "multinomial_all": (lambda x: torch.multinomial(x + torch.tensor([0.5, 1, 2, 1]), 4), (1.5, 1.118, 0, 3)),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name, opset):
    function, (mean, deviation, low, high) = DISTRIBUTIONS[name]
    if opset < 11 and "multinomial" in name:
        opset = 11
    (first, second) = sample(function, X, opset=opset, runs=2)
    expected = function(torch.cat([X, X]))
    assert first.dtype == expected.dtype
    assert first.shape == expected.shape
    assert not torch.equal(first, second)
    numbers = first.double()
    assert low <= numbers.min()
    assert numbers.max() <= high
    assert abs(numbers.mean() - mean) < 0.08 * max(1, deviation)
    assert abs(numbers.std() - deviation) < 0.08 * max(1, deviation)


def test_uniform_numbers_stay_below_one():
    (numbers,) = sample(lambda x: torch.rand(x.shape[0], 400, dtype=torch.float16), X[:500])
    assert numbers.max() < 1


def test_two_draws_differ():
    (numbers,) = sample(lambda x: torch.stack([torch.rand_like(x), torch.rand_like(x)]), X)
    assert not torch.equal(numbers[0], numbers[1])


def test_permutation():
    (numbers, others) = sample(lambda x: torch.randperm(x.shape[0]), torch.zeros(50), runs=2, opset=11)
    assert numbers.tolist() != others.tolist()
    assert sorted(numbers.tolist()) == list(range(100))


DROPOUT = {
    "inside": lambda x: torch.nn.functional.dropout(x.abs(), 0.25, training=True).abs(),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.25, training=True),
    "native": lambda x: torch.native_dropout(x, 0.25, True)[0],
}


@pytest.mark.parametrize("opset", (7, 11, 12, 13, 22, LATEST))
@pytest.mark.parametrize("name", DROPOUT)
def test_dropout_in_training(name, opset):
    (numbers,) = sample(DROPOUT[name], X + 3, opset=opset)
    assert set(numbers.unique().tolist()) == {0.0, 4.0}
    assert abs((numbers == 0).double().mean() - 0.25) < 0.03


@pytest.mark.parametrize("opset", (11, 14, LATEST))
def test_attention_with_dropout(opset):
    def forward(x):
        return torch.nn.functional.scaled_dot_product_attention(x * 0, x * 0, x * 0 + 1, dropout_p=0.5)

    (numbers,) = sample(forward, torch.zeros(40, 50, 20), opset=opset)  # means of what is kept of ones
    assert abs(numbers.mean() - 1) < 0.05
    assert 0.05 < numbers[..., 0].std() < 0.25


def test_channels_are_dropped_whole():
    (numbers,) = sample(lambda x: torch.feature_dropout(x, 0.5, True), torch.ones(200, 4, 5))
    assert torch.equal(numbers, numbers[..., :1].expand(-1, -1, 5))
    assert abs((numbers == 0).double().mean() - 0.5) < 0.1


def test_alpha_dropout_keeps_mean_and_variance():
    (numbers,) = sample(lambda x: torch.alpha_dropout(x, 0.3, True), torch.randn(4000, 4))
    assert abs(numbers.mean()) < 0.05
    assert abs(numbers.std() - 1) < 0.05


def test_dropout_in_evaluation_is_nothing():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Dropout2d(), torch.nn.AlphaDropout())
    assert operators(check(case("eval", model, f32(2, 3, 4)))) == ["Relu"]


def test_distributions_check_their_arguments_without_a_warning():
    (numbers,) = sample(lambda x: torch.distributions.Normal(x + 1, x + 2).sample(), X)
    assert abs(numbers.mean() - 1) < 0.2
    (numbers,) = sample(lambda x: torch.distributions.Uniform(x + 5, x + 10).sample([2]), X[:, :1])
    assert 5 <= numbers.min() < numbers.max() <= 10


@pytest.mark.parametrize("draw", [torch.poisson, torch._standard_gamma, lambda x: torch.binomial(x, x)])
def test_draws_by_rejection_are_refused(draw):
    with pytest.raises(LoweringError, match="make them an input"):
        check(case("draw", draw, f32(3, low=0.1, high=0.9)))


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda *size, **more: torch.randint(3, size, **more)])
def test_generators_are_refused(draw):
    with pytest.raises(LoweringError, match="no random generators; call rand"):
        onnxport.export(lambda x: x + draw(2, 3, generator=torch.Generator()), (torch.zeros(2, 3),))
